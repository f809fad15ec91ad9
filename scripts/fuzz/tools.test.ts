import { toolCalls } from "./targets/tool-targets.ts";
import { testTargets } from "./test-targets.ts";

testTargets([toolCalls]);
