import { mcpLines, mcpOverHttp, mcpPipes, toolsOfServers } from "./targets/mcp-targets.ts";
import { testTargets } from "./test-targets.ts";

testTargets([mcpLines, mcpOverHttp, mcpPipes, toolsOfServers]);
