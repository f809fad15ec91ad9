import { requireRole } from "../../control/records/principal.ts";
import { quote } from "../../control/records/shown-text.ts";
import type { InboxItem } from "../../events/inbox-item.ts";
import { defineCommand } from "./command.ts";
import { isAskId, splitFirstWord } from "./parse-arguments.ts";

const selections = ["open", "all"] as const;

type Selection = "new" | (typeof selections)[number];

const nothing: Readonly<Record<Selection, string>> = {
  new: "Nothing new in the inbox.",
  open: "Nothing waits for an answer.",
  all: "The inbox is empty.",
};

/**
 * Shows the inbox. Open questions are shown until they are answered, other items once to each
 * reader. Nothing is removed: `all` shows every item.
 */
export const showInbox = defineCommand<{ readonly selection: Selection }>({
  name: "inbox",
  form: "[all|open]",
  about: "Shows what is new to you and what waits for an answer; all, or only the latter.",
  completes: [{ words: selections }],
  parse(rest) {
    if (rest === "") return { selection: "new" };
    const selection = selections.find((each) => each === rest);
    return selection === undefined ? { problem: "It takes all or open." } : { selection };
  },
  async execute({ selection }, { steering }, { id: reader }) {
    if (selection === "open") return answerWith(await steering.openAsks(), selection);
    if (selection === "all") return answerWith(await steering.latest(), selection);
    const [open, unread] = [await steering.openAsks(), await steering.unread(reader)];
    const last = unread.at(-1);
    if (last !== undefined) await steering.markRead(last.id, reader);
    const isKnown = new Set(open.map(({ id }) => id));
    const items = [...open, ...unread.filter(({ id }) => !isKnown.has(id))];
    return answerWith(items, selection);
  },
});

function answerWith(items: readonly InboxItem[], selection: Selection) {
  if (items.length === 0) return { reply: nothing[selection], data: items };
  return { reply: ["Inbox:", ...items.map(lineOf)].join("\n"), data: items };
}

function lineOf(item: InboxItem): string {
  const { ask, delegationId, isOpen, kind, runId, severity, text, title } = item;
  const level = severity === "info" ? "" : `${severity}: `;
  const said = (isOpen && ask?.question) || text;
  const about = said === "" ? "" : `: ${said}`;
  const reply = ask && isOpen ? ` (${howToAnswer(kind, ask)})` : "";
  return `- ${level}${title}${about}${reply} [${delegationId ?? runId}]`;
}

type Ask = NonNullable<InboxItem["ask"]>;

/** How to answer. An approval takes only yes or no, and counts as no at the deadline. */
function howToAnswer(kind: InboxItem["kind"], { deadlineAt, default: fallback, id }: Ask): string {
  const isApproval = kind === "approval";
  const answers = isApproval ? `/answer ${id} yes or /answer ${id} no` : `/answer ${id} …`;
  const until = new Date(deadlineAt).toISOString().slice(0, 19).replace("T", " ");
  const unanswered = isApproval ? "it is refused" : "the agent continues without an answer";
  const then = fallback === null ? unanswered : `"${fallback}"`;
  return `${answers}; after ${until} UTC: ${then}`;
}

export const answerAsk = defineCommand<{ readonly id: string; readonly text: string }>({
  name: "answer",
  form: "<id> <text>",
  about: "Answers a question of an agent. The first answer counts.",
  takesLines: true,
  completes: ["ask"],
  parse(rest) {
    const [id, text] = splitFirstWord(rest);
    if (!isAskId(id)) return { problem: `${quote(id)} is no question. /inbox open shows them.` };
    return text === "" ? { problem: "The answer is missing." } : { id, text };
  },
  async execute({ id, text }, { steering }, principal) {
    requireRole("answer-ask", principal);
    await steering.answer(id, text);
    return { reply: `Answered ${id}.`, data: { id, accepted: true } };
  },
});
