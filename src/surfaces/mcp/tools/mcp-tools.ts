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
 * The tools that clients are offered now: all enabled ones, described with the current profiles and
 * agents. The same list is returned while those are unchanged.
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
