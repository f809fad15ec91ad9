import { isWorkedOn } from "../../../events/is-worked-on.ts";
import type { Runtime } from "../../../runtime.ts";
import type { McpCallContext, McpTool, McpToolResult } from "../mcp-tool.ts";
import { sayInterrupted } from "../say-interrupted.ts";
import {
  cancelledDelegation,
  delegationResult,
  foundResult,
  plainText,
  subAgentList,
} from "./output-schemas.ts";
import { type SessionToolOptions, sessionTool } from "./session-tool.ts";

const reading: McpTool["annotations"] = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
};

/** The tools that look at delegations, and the one that ends them. */
export function resultTools({ parts }: Runtime): readonly McpTool[] {
  const offered = <Output extends object>(
    name: string,
    options: SessionToolOptions<Output>,
  ): readonly McpTool[] => {
    const tool = parts.toolbox.get(name);
    return tool === undefined ? [] : [sessionTool(tool, options)];
  };
  const reader = (name: string, title: string): readonly McpTool[] =>
    offered(name, {
      title,
      output: plainText,
      annotations: reading,
      structure: ({ text }) => ({ text }),
    });
  return [
    ...offered("list_sub_agents", {
      title: "List sub-agents",
      output: subAgentList,
      annotations: reading,
      structure: ({ text }) => subAgentList.parse({ subAgents: JSON.parse(text) }),
    }).map((tool) => besides(tool, listOfAll)),
    ...offered("get_delegation_result", {
      title: "Get a sub-agent's result",
      output: foundResult,
      annotations: reading,
      structure: ({ text }) => foundResult.parse({ delegation: JSON.parse(text) }),
    }).map((tool) => besides(tool, earlierResult)),
    ...offered("cancel_delegation", {
      title: "Cancel a sub-agent",
      output: cancelledDelegation,
      annotations: { ...reading, readOnlyHint: false, destructiveHint: true },
      structure: ({ text }) => cancelledDelegation.parse(JSON.parse(text)),
    }),
    ...reader("peek_result", "Look at the ends of a result"),
    ...reader("search_result", "Search in a result"),
    ...reader("slice_result", "Read lines of a result"),
  ];
}

type Answer = (
  input: unknown,
  context: McpCallContext,
  tool: McpTool,
) => Promise<McpToolResult | undefined>;

/** Asked first; undefined: the session's own tool answers. */
function besides(tool: McpTool, answer: Answer): McpTool {
  return {
    ...tool,
    call: async (input, context) =>
      (await answer(input, context, tool)) ?? tool.call(input, context),
  };
}

/** Of every folder in which the client delegated; nothing is opened to say that there is nothing. */
const listOfAll: Answer = async (input, context) => {
  const { sessions } = context.session;
  if (sessions.length === 1 || !isEmpty(input)) return undefined;
  const lists = await Promise.all(
    sessions.map(async (session) => JSON.parse((await session.call("list_sub_agents", {})).text)),
  );
  const structured = subAgentList.parse({ subAgents: lists.flat() });
  return { text: JSON.stringify(structured.subAgents), structured };
};

/** What was delegated before this client's session began stays retrievable for whose it is. */
const earlierResult: Answer = async (input, { session }) => {
  const id = (input as { readonly delegationId?: unknown } | undefined)?.delegationId;
  if (typeof id !== "string") return undefined;
  const { engine, store } = session.runtime;
  const runId = await store.findRun(id);
  if (session.sessions.some((one) => one.runId === runId)) return undefined;
  const isOwn = runId !== undefined && (await session.owns(runId));
  const result = isOwn ? await engine.resultOf(id) : null;
  if (isOwn && result === null) {
    // Null means that it still works; an interrupted one does not.
    const run = await store.readRun(runId);
    const isOrphaned = run !== undefined && !(await isWorkedOn(store, run));
    if (isOrphaned) return { text: `Error: ${sayInterrupted(id, runId)}`, isError: true };
  }
  const delegation = result === null ? null : delegationResult.parse(result);
  return { text: JSON.stringify(delegation), structured: { delegation } };
};

function isEmpty(input: unknown): boolean {
  return Object.keys((input as object | undefined) ?? {}).length === 0;
}
