import { z } from "zod";
import { readInput } from "../../../agents/documents/tool-input.ts";
import { requireRole } from "../../../control/records/principal.ts";
import type { InboxItem } from "../../../events/inbox-item.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import { Inbox } from "../../../sessions/inbox.ts";
import { openQuestions } from "../calls/open-question.ts";
import type { ClientSession } from "../client-session.ts";
import { earlierWork } from "../earlier-work.ts";
import { defineMcpTool, type McpTool, type McpToolResult } from "../mcp-tool.ts";

const notice = z.looseObject({
  kind: z.string(),
  runId: z.string(),
  title: z.string(),
  text: z.string(),
});

const inboxPage = z.object({
  open: z.array(notice.extend({ askId: z.string().describe("For answer.") })),
  interrupted: z.array(z.looseObject({ delegationId: z.string(), resume: z.string() })),
  unseen: z.array(notice),
  more: z.boolean().describe("There are more notices: call again."),
});

const mostShown = 50;

export const readInboxTool: McpTool = ownTool({
  name: "read_inbox",
  title: "Read the inbox",
  description:
    "Read open questions of sub-agents, interrupted sub-agents, and notices that are new to you: reports, failures, reviews. Notices count as read then; questions stay until they are answered or expire.",
  input: z.strictObject({
    keep: z.boolean().optional().describe("Do not mark notices as seen."),
  }),
  output: inboxPage,
  usesFolders: true,
  // The tool is not read-only: it moves the position of seen notices.
  annotations: {
    readOnlyHint: false,
    destructiveHint: false,
    idempotentHint: false,
    openWorldHint: false,
  },
  async call({ keep = false }, { session }) {
    const inbox = new Inbox(session.runtime.store, { reader: readerOf(session) });
    const open = await inbox.open({ limit: mostShown });
    const fresh = await inbox.unread({ limit: mostShown + 1 });
    const unseen = fresh.slice(0, mostShown);
    const through = unseen.at(-1)?.id;
    if (!keep && through !== undefined) await inbox.markRead(through);
    const interrupted = (await earlierWork(session)).filter(
      ({ status }) => status === "interrupted",
    );
    const more = fresh.length > mostShown;
    const structured = inboxPage.parse({
      open: open.map((item) => ({ ...withoutNumber(item), askId: item.ask?.id ?? "" })),
      interrupted,
      unseen: unseen.map(withoutNumber),
      more,
    });
    return { text: JSON.stringify(structured, null, 1), structured };
  },
});

const given = z.object({ accepted: z.boolean(), reason: z.string().optional() });

export const answerTool: McpTool = ownTool({
  name: "answer",
  title: "Answer a sub-agent's question",
  description:
    "Answer a question of a sub-agent, which read_inbox shows. Answer from what you know; otherwise ask your user first. Requests for a person's approval are answered by your user alone.",
  aliases: { id: "askId", question_id: "askId", answer: "text", message: "text" },
  input: z.strictObject({
    askId: z.string().min(1).max(64).describe("The question's askId in read_inbox."),
    text: z.string().min(1).max(20_000).describe("The answer."),
  }),
  output: given,
  // Destructive: the agent continues with the answer, and may do all that its contract grants.
  annotations: {
    readOnlyHint: false,
    destructiveHint: true,
    idempotentHint: true,
    openWorldHint: true,
  },
  async call({ askId, text }, { session }) {
    requireRole("answer-ask", session.principal);
    const { store } = session.runtime;
    const runId = await store.findRun(askId);
    if (runId === undefined) {
      return refused(`There is no question ${askId}. read_inbox lists those that wait.`);
    }
    if (await isApproval(session, runId, askId)) {
      return refused(
        `${askId} asks for a person's approval, which a tool call cannot give. Your user answers it where the client shows it, or with: mandate answer ${askId} yes`,
      );
    }
    const outcome = await new Inbox(store).tryAnswer(askId, text);
    if (!outcome.accepted) return refused(outcome.reason);
    return { text: `Answered ${askId}.`, structured: { accepted: true } };
  },
});

/** A model has a read position of its own, so that it does not move the principal's. */
function readerOf({ principal }: ClientSession): string {
  return `mcp:${principal.id}`.slice(0, 200);
}

async function isApproval(session: ClientSession, runId: string, askId: string): Promise<boolean> {
  const run = await session.runtime.store.readRun(runId);
  return run !== undefined && openQuestions(run).some((one) => one.id === askId && one.isApproval);
}

function refused(reason: string): McpToolResult<z.output<typeof given>> {
  return { text: reason, isError: true };
}

/** The number of an item is its place in the inbox, which no tool takes. */
function withoutNumber({ id: _place, ...item }: InboxItem): Omit<InboxItem, "id"> {
  return item;
}

/** A tool of this surface only, so its input is validated here and not by the gate. */
export function ownTool<Input, Output extends object>(tool: McpTool<Input, Output>): McpTool {
  return defineMcpTool<Input, Output>({
    ...tool,
    async call(given, context) {
      const read = readInput(tool, given ?? {});
      if ("problem" in read) throw new MandateError("usage", read.problem);
      return tool.call(read.input, context);
    },
  });
}
