import type { Runtime } from "../../../runtime.ts";
import type { McpTool } from "../mcp-tool.ts";
import { awaitTool } from "./await-tool.ts";
import { delegatingTools } from "./delegating-tools.ts";
import { answerTool, readInboxTool } from "./inbox-tools.ts";
import { resultTools } from "./result-tools.ts";

interface Made {
  readonly profiles: readonly unknown[];
  readonly agents: readonly unknown[];
  readonly tools: readonly McpTool[];
}

const made = new WeakMap<Runtime, Made>();

/**
 * What clients of this runtime are offered now: its own tools as far as they are switched on, with
 * the profiles and agents that there are at the moment. The same list as long as those are the same.
 */
export function mcpToolsOf(runtime: Runtime): readonly McpTool[] {
  const [profiles, agents] = [runtime.profiles.offered(), runtime.control.view.all()];
  const known = made.get(runtime);
  if (known?.profiles === profiles && known.agents === agents) return known.tools;
  const tools = [
    ...delegatingTools(runtime),
    ...awaitTool(runtime),
    ...resultTools(runtime),
    readInboxTool,
    answerTool,
  ];
  made.set(runtime, { profiles, agents, tools });
  return tools;
}
