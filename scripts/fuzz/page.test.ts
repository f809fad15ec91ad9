import { eventStreamReader, pageDiffs, pageRegistry, pageTexts } from "./targets/page-targets.ts";
import { testTargets } from "./test-targets.ts";

testTargets([eventStreamReader, pageDiffs, pageRegistry, pageTexts]);
