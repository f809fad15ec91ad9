import { bundleHeads, bundles } from "./targets/bundle-targets.ts";
import { repositories } from "./targets/git-targets.ts";
import { testTargets } from "./test-targets.ts";

testTargets([bundleHeads, bundles, repositories]);
