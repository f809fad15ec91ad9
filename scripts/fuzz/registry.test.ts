import {
  controlDocuments,
  jsonWithComments,
  registryUpdates,
  strictJson,
} from "./targets/registry-targets.ts";
import { testTargets } from "./test-targets.ts";

testTargets([controlDocuments, jsonWithComments, registryUpdates, strictJson]);
