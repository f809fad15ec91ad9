import { type CallEnd, callEndIn, type Said, saidIn } from "../../events/agent-work.ts";
import type { StoredEvent } from "../../events/event.ts";
import { atMost } from "../../events/spent.ts";
import { describePlan, summarize } from "../../events/summarize.ts";
import { callSubject } from "../../sessions/describe-call.ts";
import { formatElapsed, formatTokens } from "../cli/amounts.ts";
import { type Progress, streamStart } from "../cli/markdown/stream-markdown.ts";
import { printableLine } from "../cli/printable.ts";
import { type Entry, patchOf } from "./entry.ts";
import { brokenOff, restOf, unstreamed } from "./streamed-answer.ts";

/** The run of the person's last message, which the conversation waits for. */
export interface Turn {
  readonly runId: string;
  readonly rootId: string;
  readonly profile: string;
  readonly startedAt: number;
  /** The seq of the last folded event. */
  readonly seq: number;
  /** The streamed part of the current answer: what was drawn for good, and the rest. */
  readonly drawn: string;
  readonly streamed: string;
  /** How the rest continues what was drawn. */
  readonly progress: Progress;
  /** Open calls of the root. */
  readonly calls: readonly OpenCall[];
  /** Open children and watchers of the root. */
  readonly children: readonly OpenChild[];
  /** Names of all agents of the run, by id. */
  readonly names: ReadonlyMap<string, string>;
  /** Questions that wait, by ask, with the id of each in the inbox. */
  readonly asked: ReadonlyMap<
    string,
    { readonly who: string; readonly text: string; readonly item: number }
  >;
  readonly lastSaid: string;
  readonly output: string;
  readonly failure: string;
  /** Why agents below the root failed, by their ids. */
  readonly failures: ReadonlyMap<string, string>;
  /** How the person ended the turn. */
  readonly ending: "no" | "cancel" | "by-contract" | "after-children";
}

export interface OpenCall {
  readonly callId: string;
  readonly tool: string;
  readonly about: string;
  readonly input: unknown;
  readonly isStarted: boolean;
  /** The conversation shows its child or its question instead. */
  readonly isShownOtherwise: boolean;
}

export interface OpenChild {
  readonly id: string;
  readonly label: string;
  readonly title: string;
  readonly createdAt: number;
  readonly isWatching: boolean;
}

export function beginTurn(about: Pick<Turn, "runId" | "rootId" | "profile" | "startedAt">): Turn {
  return {
    ...about,
    seq: 0,
    drawn: "",
    streamed: "",
    progress: streamStart,
    calls: [],
    children: [],
    names: new Map(),
    asked: new Map(),
    lastSaid: "",
    output: "",
    failure: "",
    failures: new Map(),
    ending: "no",
  };
}

export interface Folded {
  readonly turn: Turn;
  /** New entries. */
  readonly entries: readonly Entry[];
  readonly isOver: boolean;
}

/** Folds one event of the run into the turn. An event that was folded before changes nothing. */
export function foldTurn(turn: Turn, event: StoredEvent): Folded {
  if (event.run_id !== turn.runId || event.run_seq <= turn.seq) return unchanged(turn);
  const seen = { ...turn, seq: event.run_seq };
  if (event.type === "run.finished") return { turn: seen, entries: [], isOver: true };
  if (event.type === "agent.subagent_created") return foldCreated(seen, event);
  if (event.type === "agent.asked") return foldAsked(seen, event);
  if (event.type === "agent.answered") return foldAnswered(seen, event);
  if (event.type === "agent.subagent_closed") return foldClosed(seen, event);
  if (event.type === "agent.subagent_failed" && event.sub_agent_id !== turn.rootId) {
    const failures = new Map(seen.failures).set(event.sub_agent_id ?? "", event.payload.error);
    return unchanged({ ...seen, failures });
  }
  return event.sub_agent_id === turn.rootId ? foldRoot(seen, event) : unchanged(seen);
}

function unchanged(turn: Turn, entries: readonly Entry[] = []): Folded {
  return { turn, entries, isOver: false };
}

function foldRoot(turn: Turn, event: StoredEvent): Folded {
  switch (event.type) {
    // A new request begins: what was streamed before belongs to one that failed. An agent program makes
    // requests while it speaks.
    case "agent.budget_reserved":
      if (event.payload.model !== undefined) return unchanged(turn);
      return unchanged(unstreamed(turn), turn.drawn === "" ? [] : [brokenOff]);
    case "agent.tool_started":
      return unchanged(withCall(turn, event.payload.call_id, { isStarted: true }));
    case "agent.program_started":
      return unchanged(turn, [{ kind: "note", tone: "plain", text: summarize(event) }]);
    case "agent.request_refused":
      return unchanged(turn, [{ kind: "note", tone: "warn", text: summarize(event) }]);
    case "agent.interjected": {
      const { from, message: text, severity } = event.payload;
      const who = turn.names.get(from) ?? from;
      return unchanged(turn, [{ kind: "remark", from: who, severity, text }]);
    }
    case "agent.retried":
    case "agent.compacted":
    case "agent.model_clamped":
    case "agent.skills_clamped":
      return unchanged(unstreamed(turn), [
        ...(turn.drawn === "" ? [] : [brokenOff]),
        { kind: "note", tone: "warn", text: summarize(event) },
      ]);
    // The run is suspended, with the children that pause by their contract, until a person resumes it.
    case "agent.paused": {
      const text = `Paused. Resume it: /resume ${turn.runId}`;
      return { turn, entries: [{ kind: "note", tone: "warn", text }], isOver: true };
    }
    case "agent.subagent_waiting_for_merge":
      return foldOutput({ ...turn, output: event.payload.output }, event.payload.running ?? []);
    case "agent.subagent_failed":
      return unchanged({ ...turn, failure: event.payload.error });
    default:
      return foldWork(turn, event);
  }
}

/** What the root says and calls, whether our own loop or an agent program works on it. */
function foldWork(turn: Turn, event: StoredEvent): Folded {
  const said = saidIn(event);
  if (said !== undefined) return foldSaid(turn, said);
  const end = callEndIn(event);
  if (end !== undefined) return endCall(turn, end);
  if (event.type !== "agent.program_reported" || event.payload.what !== "plan") {
    return unchanged(turn);
  }
  return unchanged(turn, [{ kind: "note", tone: "plain", text: describePlan(event.payload) }]);
}

function foldSaid(turn: Turn, { calls, model, text }: Said): Folded {
  const open = calls.map(({ id, input, name, title }) => ({
    callId: id,
    tool: name,
    about: printableLine(title ?? callSubject(input)),
    input,
    // A program reports what it does when it does it.
    isStarted: title !== undefined,
    isShownOtherwise: false,
  }));
  const isSilent = text.trim() === "";
  const next = { ...turn, calls: [...turn.calls, ...open] };
  // Calls of a program do not end its text.
  if (isSilent && model === null) return unchanged(next);
  const lastSaid = isSilent ? turn.lastSaid : text;
  return unchanged({ ...unstreamed(next), lastSaid }, restOf(turn, text));
}

function foldCreated(turn: Turn, event: StoredEvent<"agent.subagent_created">): Folded {
  const { call_id: callId, depth, parent_id: parentId, profile, title } = event.payload;
  const id = event.sub_agent_id ?? "";
  const label = `${profile}#${id}`;
  const names = new Map(turn.names).set(id, label);
  if (id === turn.rootId) return unchanged({ ...turn, names, profile });
  const isWatching = parentId === null && depth > 0;
  if (parentId !== turn.rootId && !isWatching) return unchanged({ ...turn, names });
  const child = { id, label, title, createdAt: event.at, isWatching };
  const made = turn.calls.find(
    (call) => callId === call.callId || callId?.startsWith(`${call.callId}/`),
  );
  const known = { ...turn, names, children: [...turn.children, child] };
  return unchanged(made ? withCall(known, made.callId, { isShownOtherwise: true }) : known);
}

function foldAsked(turn: Turn, event: StoredEvent<"agent.asked">): Folded {
  const { ask_id: askId, call_id: callId, kind, question: text } = event.payload;
  const who = turn.names.get(event.sub_agent_id ?? "") ?? turn.profile;
  const asked = new Map(turn.asked).set(askId, { who, text, item: event.seq });
  const next = { ...turn, asked };
  return unchanged(kind === undefined ? withCall(next, callId, { isShownOtherwise: true }) : next);
}

function foldAnswered(turn: Turn, event: StoredEvent<"agent.answered">): Folded {
  const { answer, ask_id: askId } = event.payload;
  const question = turn.asked.get(askId);
  if (question === undefined) return unchanged(turn);
  const asked = new Map(turn.asked);
  asked.delete(askId);
  const { text, who } = question;
  return unchanged({ ...turn, asked }, [{ kind: "question", who, text, answer }]);
}

/** With background children, the answer ends the turn before the run ends. */
function foldOutput(turn: Turn, running: readonly string[]): Folded {
  if (running.length === 0) return unchanged(turn);
  const names = running.map((id) => turn.names.get(id) ?? id).join(", ");
  const text = `In the background: ${names}`;
  const entries: readonly Entry[] = [...answerOf(turn), { kind: "note", tone: "plain", text }];
  return { turn: unstreamed(turn), entries, isOver: true };
}

function foldClosed(turn: Turn, event: StoredEvent<"agent.subagent_closed">): Folded {
  const { close_reason: reason, final_status: status, sub_agent_id: id } = event.payload;
  if (id === turn.rootId) return unchanged(unstreamed(turn), endOfRoot(turn, status, reason));
  const child = turn.children.find((each) => each.id === id);
  if (child === undefined) return unchanged(turn);
  const children = turn.children.filter((each) => each.id !== id);
  return unchanged({ ...turn, children }, [endOfChild(child, event, turn.failures.get(id))]);
}

/** How a child ended, and what it said last. */
export function endOfChild(
  child: Pick<OpenChild, "createdAt" | "isWatching" | "label" | "title">,
  { at, payload }: StoredEvent<"agent.subagent_closed">,
  failure = "",
): Entry {
  const { close_reason: reason, final_status: status, seal } = payload;
  const tokens = seal.usage.prompt + seal.usage.completion;
  const used = atMost(`${formatTokens(tokens)} tokens`, seal.usage);
  const spent = `${used}, ${formatElapsed(at - child.createdAt)}`;
  const isDone = status === "completed";
  const mark = isDone ? "done" : reason === "cancelled" ? "stopped" : "failed";
  const why = isDone || reason === "cancelled" ? "" : failure;
  const detail = why === "" || seal.summary.includes(why) ? seal.summary : why;
  return {
    kind: "line",
    mark: child.isWatching ? "stopped" : mark,
    who: child.label,
    text: child.isWatching ? "no longer watches" : `${child.title} (${spent})`,
    ...(!child.isWatching && detail !== "" && { detail }),
  };
}

function endOfRoot(turn: Turn, status: string, reason: string): readonly Entry[] {
  if (status !== "completed") {
    const isCancelled = reason === "cancelled";
    const text = isCancelled ? "Interrupted." : turn.failure || `It failed: ${reason}`;
    // What was streamed stays, also where the answer was not finished.
    const seen = restOf(turn, turn.drawn + turn.streamed);
    return [...seen, { kind: "note", tone: isCancelled ? "warn" : "bad", text }];
  }
  return answerOf(turn);
}

/** The answer of the root, unless its last message was the same. */
function answerOf(turn: Turn): readonly Entry[] {
  const isSaid = turn.output.trim() === turn.lastSaid.trim() || turn.output.trim() === "";
  return isSaid ? [] : [{ kind: "agent", who: turn.profile, text: turn.output }];
}

function withCall(turn: Turn, callId: string, change: Partial<Turn["calls"][number]>): Turn {
  const calls = turn.calls.map((call) => (call.callId === callId ? { ...call, ...change } : call));
  return { ...turn, calls };
}

function endCall(turn: Turn, end: CallEnd): Folded {
  const call = turn.calls.find((each) => each.callId === end.callId);
  const calls = turn.calls.filter((each) => each !== call);
  // A delegation has its own line; a refused one has only this.
  const isSilent = call?.isShownOtherwise === true && end.outcome !== "refused";
  const isDone = end.outcome === "done";
  const entry: Entry = {
    kind: "line",
    mark: end.outcome,
    who: end.tool,
    text: end.title === undefined ? (call?.about ?? "") : printableLine(end.title),
    ...(isDone ? patchOf(end.input ?? call?.input, end.output) : { detail: end.output }),
  };
  return unchanged({ ...turn, calls }, isSilent ? [] : [entry]);
}
