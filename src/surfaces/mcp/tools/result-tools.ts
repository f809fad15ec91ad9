import { requireRole } from "../../../control/records/require-role.ts";
import type { Runtime } from "../../../runtime.ts";
import type { McpCallContext, McpTool, McpToolResult } from "../mcp-tool.ts";
import { earlierJobs, interruptionOf } from "./earlier-jobs.ts";
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
    }).map((tool) => besides(tool, cancelEarlier)),
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

/** What was delegated before this client's session began stays retrievable. */
const earlierResult: Answer = async (input, context) => {
  const id = delegationIn(input);
  if (id === undefined || (await isOfSession(id, context))) return undefined;
  const { engine, store } = context.session.runtime;
  const runId = (await earlierJobs([id], context)).get(id);
  const result = runId === undefined ? null : await engine.resultOf(id);
  if (runId !== undefined && result === null) {
    // Null means that it still works; an interrupted one does not.
    const sentence = await interruptionOf(store, id, runId);
    if (sentence !== undefined) return { text: `Error: ${sentence}`, isError: true };
  }
  const delegation = result === null ? null : delegationResult.parse(result);
  return { text: JSON.stringify(delegation), structured: { delegation } };
};

/** A job of an earlier session is ended where it is. */
const cancelEarlier: Answer = async (input, context) => {
  const id = delegationIn(input);
  if (id === undefined || (await earlierJobs([id], context)).size === 0) return undefined;
  const { principal, runtime } = context.session;
  requireRole("steer-work", principal);
  const outcome = await runtime.engine.cancel(id, `cancelled by ${principal.id}`);
  const structured = cancelledDelegation.parse({ delegationId: id, outcome });
  return { text: JSON.stringify(structured), structured };
};

function delegationIn(input: unknown): string | undefined {
  const { delegationId: id } = (input ?? {}) as { readonly delegationId?: unknown };
  return typeof id === "string" ? id : undefined;
}

async function isOfSession(id: string, { session }: McpCallContext): Promise<boolean> {
  const runId = await session.runtime.store.findRun(id);
  return session.sessions.some((one) => one.runId === runId);
}

function isEmpty(input: unknown): boolean {
  return Object.keys((input as object | undefined) ?? {}).length === 0;
}
