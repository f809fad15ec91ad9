import { commandLines, commandsOfViewers } from "./targets/command-targets.ts";
import { testTargets } from "./test-targets.ts";

testTargets([commandLines, commandsOfViewers]);
