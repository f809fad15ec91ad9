import { clientJson, clientToml } from "./targets/client-file-targets.ts";
import { configFiles, planFiles, playbookFiles, yamlDocuments } from "./targets/config-targets.ts";
import { testTargets } from "./test-targets.ts";

testTargets([configFiles, planFiles, playbookFiles, yamlDocuments, clientJson, clientToml]);
