import { archives, officeFiles, skillFiles, webPages } from "./targets/document-targets.ts";
import { testTargets } from "./test-targets.ts";

testTargets([archives, officeFiles, skillFiles, webPages]);
