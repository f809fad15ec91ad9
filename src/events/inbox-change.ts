import { storedLine } from "../text.ts";
import { type CloseReason, closeReasonWords } from "./close-reason.ts";
import { type Delegation, openAskOf, shownName } from "./delegation.ts";
import type { StoredEvent } from "./event.ts";
import type { InboxItem } from "./inbox-item.ts";
import { rootIdOf } from "./root-facts.ts";
import type { RunState } from "./run-state.ts";

/** The change of the inbox by one event. */
export interface InboxChange {
  readonly item: InboxItem | undefined;
  /** The ask that no longer waits for an answer. */
  readonly closes: string | undefined;
}

/** Words of an item that have changed since a released version; stored items keep those of their time. */
export interface InboxWords {
  readonly queued: string;
  /** The words before the outcome in the item of a run. */
  readonly run: string;
  /** Why an agent failed. */
  readonly reason: (reason: CloseReason) => string;
  /** Whether the end of the root has an item of its own, beside that of its run. */
  readonly hasRoots: boolean;
}

const wordsNow: InboxWords = {
  queued: "A queued run waits",
  run: "Run",
  reason: (reason) => closeReasonWords[reason] ?? reason,
  hasRoots: false,
};

/**
 * The change of the inbox by one event, from the delegation `before` the event and the run after it. The
 * inbox is the fold of these changes over the log; stores keep it, so that reading it does not read logs.
 */
export function inboxChangeOf(
  event: StoredEvent,
  run: RunState,
  before: Delegation | undefined,
  words = wordsNow,
): InboxChange {
  const ask = before === undefined ? null : openAskOf(before);
  const after = ask === null ? undefined : run.delegations.get(before?.id ?? "");
  const isOpen = after !== undefined && openAskOf(after)?.id === ask?.id;
  return {
    item: inboxItemOf(say(event, run, before, words), event),
    closes: ask === null || isOpen ? undefined : ask.id,
  };
}

const longestTitle = 160;
const longestText = 240;

/** The item for an event; undefined: people need not know about it. */
function inboxItemOf(said: Said | undefined, event: StoredEvent): InboxItem | undefined {
  if (said === undefined) return undefined;
  const { kind, severity, title, text, ask, about = event.sub_agent_id } = said;
  return {
    id: event.seq,
    at: event.at,
    runId: event.run_id,
    ...(about !== undefined && { delegationId: about }),
    kind,
    severity,
    title: storedLine(title, longestTitle),
    text: storedLine(text, longestText),
    ...(ask && { isOpen: true, ask }),
  };
}

type Said = Pick<InboxItem, "kind" | "severity" | "title" | "text"> & {
  readonly ask?: InboxItem["ask"];
  readonly about?: string;
};

function say(
  event: StoredEvent,
  run: RunState,
  before: Delegation | undefined,
  words: InboxWords,
): Said | undefined {
  const who = before === undefined ? "an agent" : shownName(before);
  switch (event.type) {
    case "agent.asked": {
      const {
        ask_id: id,
        default: fallback,
        deadline_at: deadlineAt,
        kind,
        question,
      } = event.payload;
      const ask = { id, deadlineAt, default: fallback && storedLine(fallback, longestText) };
      const title = kind === undefined ? `${who} asks` : `${who} asks for approval`;
      return { kind: kind ?? "ask", severity: "warn", title, text: question, ask };
    }
    case "agent.answered":
      return sayAnswer(event, before, who);
    case "agent.subagent_closed":
      return before && sayEnd(event, before, words);
    case "agent.message_sent": {
      const { from, message } = event.payload;
      const title = `Message to ${who} from ${from === "person" ? "a person" : "its caller"}`;
      return { kind: "interjection", severity: "info", title, text: message };
    }
    case "agent.interjected": {
      const { from, message, severity } = event.payload;
      if (!from.startsWith(watcherPrefix)) return undefined;
      const watcher = run.delegations.get(from.slice(watcherPrefix.length))?.profile ?? "a watcher";
      return { kind: "interjection", severity, title: `${watcher} to ${who}`, text: message };
    }
    case "run.started": {
      const { goal, task } = event.payload;
      if (goal == null || goal.behind === null) return undefined;
      const text = `It begins when run ${goal.behind} has ended.`;
      return { kind: "run", severity: "info", title: `${words.queued}: ${task}`, text };
    }
    case "run.planned": {
      const { by, steps } = event.payload;
      const count = steps.length === 1 ? "1 step" : `${steps.length} steps`;
      const text = steps
        .slice(0, 20)
        .map(({ title }) => storedLine(title, longestTitle))
        .join("; ");
      return { kind: "plan", severity: "info", title: `A plan of ${count}`, text, about: by };
    }
    case "run.finished": {
      const { outcome, reason } = event.payload;
      const severity = outcome === "succeeded" ? "info" : "warn";
      const end = outcome === "cancelled" ? "was cancelled" : outcome;
      const title = `${words.run} ${end}: ${run.task}`;
      return { kind: "run", severity, title, text: resultIn(run, words) || reason };
    }
    default:
      return undefined;
  }
}

/** The summary of a root that completed; empty: there is no result to show. */
function resultIn(run: RunState, { hasRoots }: InboxWords): string {
  const root = run.delegations.get(rootIdOf(run) ?? "");
  const isCompleted = root?.status === "closed" && root.finalStatus === "completed";
  return isCompleted && !hasRoots && run.outcome === "succeeded" ? root.seal.summary : "";
}

const watcherPrefix = "watcher:";

function sayAnswer(
  { payload: { answer, ask_id: askId, by } }: StoredEvent<"agent.answered">,
  before: Delegation | undefined,
  who: string,
): Said {
  const ask = before && openAskOf(before);
  const about = ask?.id === askId ? `: ${ask.question}` : "";
  if (by === "expired" || answer === null) {
    return {
      kind: "answer",
      severity: "warn",
      title: `${who} had no answer in time${about}`,
      text: "",
    };
  }
  const title =
    by === "person" ? `${who} was answered${about}` : `The default answered ${who}${about}`;
  return { kind: "answer", severity: "info", title, text: answer };
}

/** Ends of deeper delegations are shown only when they failed. */
const depthOfInterest = 1;

function sayEnd(
  {
    payload: { close_reason: reason, final_status: status, seal },
  }: StoredEvent<"agent.subagent_closed">,
  before: Delegation,
  { hasRoots, reason: wordsOf }: InboxWords,
): Said | undefined {
  const { depth, mail = [], parentId, profile, title } = before;
  // The item of its run says how it ended, and comes right after it.
  const isRoot = parentId === null && depth === 0;
  if (isRoot && mail.length === 0 && !hasRoots) return undefined;
  const who = shownName(before);
  const isNews = (status === "failed" && !isConsequence(reason)) || mail.length > 0;
  if (depth > depthOfInterest && !isNews) return undefined;
  const unread = withoutReading(mail.length);
  const error = before.status === "failed" ? before.failure.error : "";
  if (status === "failed") {
    const end = isConsequence(reason) ? "was cancelled" : `failed (${wordsOf(reason)})`;
    const head = `${who} ${end}${unread}: ${title}`;
    return { kind: "finished", severity: "warn", title: head, text: error || seal.summary };
  }
  const [kind, verb] = isReviewer(profile)
    ? (["review", "reviewed"] as const)
    : (["finished", "finished"] as const);
  return {
    kind,
    severity: "info",
    title: `${who} ${verb}${unread}: ${title}`,
    text: seal.summary,
  };
}

/** Tells the sender that a message was not read. */
function withoutReading(messages: number): string {
  if (messages === 0) return "";
  return ` without reading ${messages === 1 ? "a message" : `${messages} messages`}`;
}

/**
 * Whether a delegation closed only because another one was cancelled or closed: the inbox has an
 * item for that one.
 */
function isConsequence(reason: string): boolean {
  return reason === "cancelled" || reason === "parent_closed";
}

/** By its name, because the log has nothing else: `reviewer`, `code-reviewer`, `team/review`. */
function isReviewer(profile: string): boolean {
  return /(?:^|[^a-z])review(?:er)?$/i.test(profile);
}
