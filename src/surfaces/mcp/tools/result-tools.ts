import type { z } from "zod";
import { findOfferedProfiles } from "../../../application/summarize-profile.ts";
import { requireRole } from "../../../control/records/principal.ts";
import type { Runtime } from "../../../runtime.ts";
import type { ProfileQuery } from "../../../tools/delegation/list-profiles.ts";
import type { Tool } from "../../../tools/tool.ts";
import { earlierWork, interruptionOf } from "../earlier-work.ts";
import type { McpCallContext, McpTool, McpToolResult } from "../mcp-tool.ts";
import { earlierJobs, untilClosed } from "./await-tool.ts";
import { ownTool } from "./inbox-tools.ts";
import {
  cancelledDelegation,
  delegationResult,
  foundProfiles,
  foundResult,
  plainText,
  sentMessage,
  subAgentList,
} from "./output-schemas.ts";
import {
  longestWaitMs,
  type RawInput,
  type SessionToolOptions,
  sessionTool,
} from "./session-tool.ts";

const reading: McpTool["annotations"] = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
};

/** The tools that read, cancel and message delegations. */
export function resultTools({ toolbox }: Runtime): readonly McpTool[] {
  const offered = <Output extends object>(
    name: string,
    options: SessionToolOptions<Output>,
  ): readonly McpTool[] => {
    const tool = toolbox.get(name);
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
    ...listProfilesTool(toolbox.get("list_profiles")),
    ...offered("list_sub_agents", {
      title: "List sub-agents",
      output: subAgentList,
      annotations: reading,
      structure: ({ text }) => subAgentList.parse({ subAgents: JSON.parse(text) }),
    }).map((tool) => ({ ...besides(tool, listOfAll), usesFolders: true as const })),
    ...offered("get_delegation_result", {
      title: "Get a sub-agent's result",
      description: `Get the result of a sub-agent, or null while it is running. With wait_ms it waits for the end, at most ${longestWaitMs}; null after that means that it is still running: call it again.`,
      output: foundResult,
      annotations: reading,
      watched: (input) => Promise.resolve([String(input["delegationId"])]),
      structure: ({ text }) => foundResult.parse({ delegation: JSON.parse(text) }),
    })
      .map((tool) => besides(tool, earlierResult))
      .map(bounded),
    ...offered("cancel_delegation", {
      title: "Cancel a sub-agent",
      output: cancelledDelegation,
      annotations: { ...reading, readOnlyHint: false, destructiveHint: true },
      structure: ({ text }) => cancelledDelegation.parse(JSON.parse(text)),
    }).map((tool) => besides(tool, cancelEarlier)),
    ...offered("send_message", {
      title: "Send a message to a sub-agent",
      output: sentMessage,
      annotations: {
        ...reading,
        readOnlyHint: false,
        destructiveHint: true,
        idempotentHint: false,
      },
      structure: ({ input }) => sentMessage.parse(input),
    }).map((tool) => besides(tool, sendElsewhere)),
    ...reader("peek_result", "Look at the ends of a result"),
    ...reader("search_result", "Search in a result"),
    ...reader("slice_result", "Read lines of a result"),
  ];
}

/** The tool needs no session: profiles are listed before anything is delegated. */
function listProfilesTool(tool: Tool | undefined): readonly McpTool[] {
  if (tool === undefined) return [];
  const { description, input, name } = tool;
  return [
    ownTool<ProfileQuery, z.output<typeof foundProfiles>>({
      name,
      title: "List profiles of sub-agents",
      description,
      input: input as z.ZodType<ProfileQuery>,
      output: foundProfiles,
      annotations: reading,
      async call(query, { session }) {
        const found = findOfferedProfiles(session.runtime, query);
        const structured = foundProfiles.parse(found);
        return { text: JSON.stringify(structured), structured };
      },
    }),
  ];
}

type Answer = (
  input: unknown,
  context: McpCallContext,
  tool: McpTool,
) => Promise<McpToolResult | undefined>;

/** Tries `answer` first; undefined: the session's own tool answers. */
function besides(tool: McpTool, answer: Answer): McpTool {
  return {
    ...tool,
    call: async (input, context) =>
      (await answer(input, context, tool)) ?? tool.call(input, context),
  };
}

/** Limits the wait to what clients tolerate. */
function bounded(tool: McpTool): McpTool {
  return {
    ...tool,
    call(input, context) {
      const waitMs = waitIn(input);
      const isTooLong = waitMs !== undefined && waitMs > longestWaitMs;
      const given = isTooLong ? { ...(input as RawInput), wait_ms: longestWaitMs } : input;
      return tool.call(given, context);
    },
  };
}

/** Lists the sub-agents of all sessions, earlier ones included. Without a session nothing is opened. */
const listOfAll: Answer = async (input, context) => {
  const { sessions } = context.session;
  if (!isEmpty(input)) return undefined;
  const earlier = await earlierWork(context.session);
  const lists = await Promise.all(
    sessions.map(async (session) => JSON.parse((await session.call("list_sub_agents", {})).text)),
  );
  const structured = subAgentList.parse({ subAgents: [...earlier, ...lists.flat()] });
  return { text: JSON.stringify(structured.subAgents), structured };
};

/** Results of earlier sessions stay retrievable. */
const earlierResult: Answer = async (input, context) => {
  const id = delegationIn(input);
  if (id === undefined || (await isOfSession(id, context))) return undefined;
  const { engine, store } = context.session.runtime;
  const waitMs = waitIn(input);
  // An invalid time is left to the tool, which reports it.
  if (hasWait(input) && (waitMs === undefined || waitMs < 1)) return undefined;
  const jobs = await earlierJobs([id], context);
  const runId = jobs.get(id);
  if (waitMs !== undefined) {
    await untilClosed(context.session.runtime, jobs, { waitMs, signal: context.signal });
  }
  const result = runId === undefined ? null : await engine.resultOf(id);
  const run = runId === undefined ? undefined : await store.readRun(runId);
  if (run !== undefined && result === null) {
    // Null means that it is running, which an interrupted one is not.
    const sentence = await interruptionOf(store, id, run);
    if (sentence !== undefined) return { text: `Error: ${sentence}`, isError: true };
  }
  const delegation = result === null ? null : delegationResult.parse(result);
  return { text: JSON.stringify(delegation), structured: { delegation } };
};

/** Cancels a job of an earlier session. */
const cancelEarlier: Answer = async (input, context) => {
  const id = delegationIn(input);
  if (id === undefined || (await earlierJobs([id], context)).size === 0) return undefined;
  const { principal, runtime } = context.session;
  requireRole("steer-work", principal);
  const outcome = await runtime.engine.cancel(id, `cancelled by ${principal.id}`);
  const structured = cancelledDelegation.parse({ delegationId: id, outcome });
  return { text: JSON.stringify(structured), structured };
};

/** Sends to sub-agents of this session that another server made; refuses those of other sessions. */
const sendElsewhere: Answer = async (input, context, tool) => {
  const id = delegationIn(input);
  if (id === undefined || (await isOfSession(id, context))) return undefined;
  const { principal, runsElsewhere, runtime } = context.session;
  const runId = await runtime.store.findRun(id);
  if (runId === undefined || !runsElsewhere.includes(runId)) {
    return { text: `Error: there is no sub-agent ${id} of yours`, isError: true };
  }
  requireRole("steer-work", principal);
  const { message } = tool.input.parse(input) as { readonly message: string };
  await runtime.engine.send(id, message, "caller");
  const structured = sentMessage.parse({ delegationId: id, message });
  return { text: `Sent. ${id} reads it before its next turn.`, structured };
};

function delegationIn(input: unknown): string | undefined {
  const { delegationId: id } = (input ?? {}) as { readonly delegationId?: unknown };
  return typeof id === "string" ? id : undefined;
}

function hasWait(input: unknown): boolean {
  return ((input ?? {}) as RawInput)["wait_ms"] !== undefined;
}

function waitIn(input: unknown): number | undefined {
  const { wait_ms: waitMs } = (input ?? {}) as RawInput;
  return Number.isSafeInteger(waitMs) ? Number(waitMs) : undefined;
}

async function isOfSession(id: string, { session }: McpCallContext): Promise<boolean> {
  const runId = await session.runtime.store.findRun(id);
  return session.sessions.some((one) => one.runId === runId);
}

function isEmpty(input: unknown): boolean {
  return Object.keys((input as object | undefined) ?? {}).length === 0;
}
