import { modelAnswers } from "./targets/model-targets.ts";
import { testTargets } from "./test-targets.ts";

testTargets([modelAnswers]);
