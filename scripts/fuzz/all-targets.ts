import type { Target } from "./target.ts";
import { bundleHeads, bundles } from "./targets/bundle-targets.ts";
import { clientJson, clientToml } from "./targets/client-file-targets.ts";
import { commandLines, commandsOfViewers } from "./targets/command-targets.ts";
import { configFiles, planFiles, playbookFiles, yamlDocuments } from "./targets/config-targets.ts";
import { rawConnections, repeatedRequests } from "./targets/connection-targets.ts";
import { archives, officeFiles, skillFiles, webPages } from "./targets/document-targets.ts";
import { repositories } from "./targets/git-targets.ts";
import { httpRequests } from "./targets/http-targets.ts";
import { modelWords, storedContracts, storedRows } from "./targets/log-targets.ts";
import { mcpLines, mcpOverHttp, mcpPipes, toolsOfServers } from "./targets/mcp-targets.ts";
import { modelAnswers } from "./targets/model-targets.ts";
import { eventStreamReader, pageDiffs, pageRegistry, pageTexts } from "./targets/page-targets.ts";
import { agentFiles, ownProfiles, profileFolders } from "./targets/profile-targets.ts";
import {
  controlDocuments,
  jsonWithComments,
  registryUpdates,
  strictJson,
} from "./targets/registry-targets.ts";
import { restrictions } from "./targets/restriction-targets.ts";
import { shellWords } from "./targets/shell-targets.ts";
import { chatScreens, commandLine, shownTexts } from "./targets/terminal-targets.ts";
import { toolCalls } from "./targets/tool-targets.ts";

export const allTargets: readonly Target[] = [
  ...[agentFiles, ownProfiles, profileFolders],
  ...[yamlDocuments, configFiles, planFiles, playbookFiles],
  ...[strictJson, registryUpdates, controlDocuments, jsonWithComments],
  ...[commandLines, commandsOfViewers],
  ...[shownTexts, chatScreens, commandLine],
  ...[pageTexts, pageDiffs, pageRegistry, eventStreamReader],
  ...[toolCalls, shellWords, modelAnswers],
  ...[webPages, officeFiles, archives, skillFiles],
  ...[httpRequests, rawConnections, repeatedRequests],
  ...[mcpPipes, mcpLines, mcpOverHttp, toolsOfServers],
  ...[repositories, bundles, bundleHeads],
  ...[storedRows, storedContracts, modelWords],
  ...[clientJson, clientToml, restrictions],
];
