import { shellWords } from "./targets/shell-targets.ts";
import { testTargets } from "./test-targets.ts";

testTargets([shellWords]);
