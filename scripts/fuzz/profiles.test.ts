import { agentFiles, ownProfiles, profileFolders } from "./targets/profile-targets.ts";
import { restrictions } from "./targets/restriction-targets.ts";
import { testTargets } from "./test-targets.ts";

testTargets([agentFiles, ownProfiles, profileFolders, restrictions]);
