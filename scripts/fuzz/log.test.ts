import { modelWords, storedContracts, storedRows } from "./targets/log-targets.ts";
import { testTargets } from "./test-targets.ts";

testTargets([modelWords, storedContracts, storedRows]);
