import type { Contract } from "../contracts/contract.ts";
import { type CallEnd, callEndIn, type Said, type SaidCall, saidIn } from "../events/agent-work.ts";
import { closeReasonWords, describeStatus } from "../events/close-reason.ts";
import type { EventPayloads, SentMessage, StoredEvent } from "../events/event.ts";
import { foldRun, type RunState } from "../events/run-state.ts";
import { describePlan } from "../events/summarize.ts";
import { messageOf } from "../ports/message-of.ts";
import type { Store } from "../ports/store.ts";
import { statusOf } from "./delegation-result.ts";
import {
  capabilityOf,
  isFurtherMessage,
  makeBreadcrumb,
  type SessionCapability,
} from "./session.ts";
import type { SessionHead } from "./session-chain.ts";
import type { CallEntry, SessionEntry } from "./session-entry.ts";
import { type LostEvents, readSurvivingEvents } from "./surviving-events.ts";

/** One delegation of a session, with all of its run that can be read. */
export interface SessionLink {
  readonly head: SessionHead;
  /** Null: it cannot be read, or does not have the hash in the log. */
  readonly contract: Contract | null;
  readonly events: readonly (StoredEvent | LostEvents)[];
  /** Null: events are missing. */
  readonly run: RunState | null;
  /** The children and watchers of the delegation, with their role; null: unknown. */
  readonly children: ReadonlyMap<string, SessionCapability | null>;
  readonly problems: readonly string[];
}

/** `next`: the delegation that continues this one, perhaps from its middle. */
export async function readLink(
  store: Store,
  head: SessionHead,
  next?: SessionHead,
): Promise<SessionLink> {
  const problems: string[] = [];
  const events: (StoredEvent | LostEvents)[] = [];
  const legible: StoredEvent[] = [];
  for await (const event of readSurvivingEvents(store, head.runId)) {
    if (next !== undefined && next.resumedAt !== null && event.seq > next.resumedAt) break;
    events.push(event);
    if (event.type === "lost") problems.push(`In ${head.runId}, ${event.problem}.`);
    else legible.push(event);
  }
  let contract: Contract | null = null;
  try {
    contract = await store.readContract(head.id);
  } catch (error) {
    problems.push(messageOf(error));
  }
  let run: RunState | null = null;
  try {
    if (legible.length === events.length) run = foldRun(head.runId, legible);
  } catch (error) {
    problems.push(`The state of ${head.runId} cannot be worked out: ${messageOf(error)}`);
  }
  return {
    head,
    contract,
    events,
    run,
    children: await childrenIn(store, legible, head.id),
    problems,
  };
}

/** The entries of one delegation of a session. `before`: the previous one. */
export function entriesOf(
  link: SessionLink,
  before: SessionLink | undefined,
): readonly SessionEntry[] {
  const { children, contract, events, head } = link;
  const session = new SessionEntries(head.id, children);
  for (const event of events) {
    const isOwn = event.type === "agent.subagent_created" && event.sub_agent_id === head.id;
    session.see(event, isOwn ? opening(event.at) : []);
  }
  return session.entries;

  function opening(at: number): readonly SessionEntry[] {
    if (contract === null) return [{ kind: "person", at, text: taskIn(events) }];
    if (before === undefined || before.contract === null) return openingEntries(contract, at);
    const { description } = contract.step;
    const ended = before.run?.delegations.get(before.head.id);
    return isFurtherMessage(before.contract, ended, description)
      ? [{ kind: "person", at, text: description }]
      : [{ kind: "note", at, text: "The old task continues." }];
  }
}

/** The task of the run, for when the contract cannot be read. */
function taskIn(events: SessionLink["events"]): string {
  for (const event of events) if (event.type === "run.started") return String(event.payload.task);
  return "";
}

async function childrenIn(
  store: Store,
  events: readonly StoredEvent[],
  id: string,
): Promise<SessionLink["children"]> {
  const children = new Map<string, SessionCapability | null>();
  for (const event of events) {
    if (event.type !== "agent.subagent_created" || event.sub_agent_id === undefined) continue;
    const isChild = event.payload.parent_id === id;
    // A watcher has no caller: its contract says which delegation it watches.
    const mayWatch = event.payload.parent_id === null && event.payload.depth > 0;
    if (!isChild && !mayWatch) continue;
    const contract = await store.readContract(event.sub_agent_id).catch(() => null);
    if (isChild || contract?.parent.watches === id) {
      children.set(event.sub_agent_id, contract && capabilityOf(contract));
    }
  }
  return children;
}

type Writable<Entry> = { -readonly [Key in keyof Entry]: Entry[Key] };
type Question = Extract<SessionEntry, { kind: "question" }>;

interface BegunChild {
  readonly profile: string;
  readonly callId: string | null;
  error: string | null;
}

/**
 * The conversation of one agent in one run for people, as a fold of the run's events: all attempts, nothing
 * shortened, with breadcrumbs of its children. (`Transcript` is the conversation for the model.) An event
 * that cannot be read becomes a `lost` entry.
 */
class SessionEntries {
  readonly entries: SessionEntry[] = [];
  readonly #id: string;
  readonly #children: ReadonlyMap<string, SessionCapability | null>;
  readonly #calls = new Map<string, Writable<CallEntry>>();
  readonly #questions = new Map<string, Writable<Question>>();
  /** Undelivered messages, by id. */
  readonly #mail = new Map<string, SentMessage>();
  readonly #begun = new Map<string, BegunChild>();
  /** The agent program that works on it, as it names itself. */
  #program = "";

  constructor(id: string, children: ReadonlyMap<string, SessionCapability | null>) {
    this.#id = id;
    this.#children = children;
  }

  /** `opening`: the entries of the task, when this event creates the agent. */
  see(event: StoredEvent | LostEvents, opening: readonly SessionEntry[] = []): void {
    try {
      if (event.type === "lost") this.#add({ kind: "lost", text: event.problem });
      else if (event.sub_agent_id === this.#id) this.#seeOwn(event, opening);
      else this.#seeOther(event);
    } catch (error) {
      const what = event.type === "lost" ? "it" : `event ${event.seq}`;
      this.#add({ kind: "lost", text: `${what} cannot be read: ${messageOf(error)}` });
    }
  }

  #add(entry: SessionEntry): void {
    this.entries.push(entry);
  }

  #note(at: number, text: string): void {
    this.#add({ kind: "note", at, text });
  }

  #seeOwn(event: StoredEvent, opening: readonly SessionEntry[]): void {
    const { at } = event;
    switch (event.type) {
      case "agent.subagent_created":
        this.entries.push(...opening);
        break;
      case "agent.subagent_attempt":
        if (event.payload.attempt > 1) this.#note(at, `Attempt ${event.payload.attempt} begins.`);
        break;
      case "agent.program_started":
        this.#program = event.payload.program;
        this.#note(
          at,
          `${event.payload.program} ${event.payload.resumed ? "continues" : "works"}.`,
        );
        break;
      case "agent.request_refused":
        this.#note(at, `A request to a model was refused: ${event.payload.error}`);
        break;
      case "agent.asked":
        this.#ask(event);
        break;
      case "agent.answered": {
        const question = this.#questions.get(event.payload.ask_id);
        if (question) question.answer = event.payload.answer;
        break;
      }
      case "agent.message_sent":
        this.#mail.set(event.payload.message_id, event.payload);
        break;
      case "agent.interjected": {
        const { from, message: text, message_id: id, severity } = event.payload;
        if (id !== undefined) this.#mail.delete(id);
        this.#add({ kind: "remark", at, from, severity, text });
        break;
      }
      case "agent.compacted":
        this.#note(at, "The conversation was shortened for the model; this view is complete.");
        break;
      case "agent.interrupted":
        this.#note(at, `It was interrupted: ${event.payload.reason}`);
        break;
      case "agent.resumed":
        this.#note(at, "It was recovered after an interruption.");
        break;
      case "agent.subagent_failed":
        this.#note(
          at,
          `It failed (${closeReasonWords[event.payload.code]}): ${event.payload.error}`,
        );
        break;
      case "agent.subagent_closed":
        this.#end(at, event.payload);
        break;
      default: {
        const said = saidIn(event);
        if (said !== undefined) this.#said(at, said);
        const end = callEndIn(event);
        if (end !== undefined) this.#ended(at, end);
        const isPlan = event.type === "agent.program_reported" && event.payload.what === "plan";
        if (isPlan) this.#note(at, describePlan(event.payload));
      }
    }
  }

  #said(at: number, { calls, model, text }: Said): void {
    if (text !== "") this.#add({ kind: "agent", at, text, model: model ?? this.#program });
    for (const call of calls) this.#call(at, call);
  }

  #call(at: number, { id: callId, input, malformed, name: tool, title }: SaidCall): CallEntry {
    const about = { tool, ...(title !== undefined && { title }), input: malformed ?? input };
    const call: Writable<CallEntry> = {
      ...{ kind: "call", at, callId, ...about, outcome: "open", output: "" },
    };
    this.#calls.set(callId, call);
    this.#add(call);
    return call;
  }

  #ended(at: number, end: CallEnd): void {
    const known = this.#calls.get(end.callId);
    // A call that an agent program made in no time has only its end.
    const isNew = known?.outcome !== "open" && end.title !== undefined;
    const { callId: id, input, tool: name, title } = end;
    const call = isNew ? this.#call(at, { id, name, input, ...(title && { title }) }) : known;
    if (call?.outcome === "open") Object.assign(call, end);
  }

  #ask({ at, payload }: StoredEvent<"agent.asked">): void {
    const question: Writable<Question> = {
      kind: "question",
      at,
      ...(payload.kind === undefined && { callId: payload.call_id }),
      text: payload.question,
      answer: null,
    };
    this.#questions.set(payload.ask_id, question);
    this.#add(question);
  }

  #end(
    at: number,
    { close_reason: reason, final_status: end }: EventPayloads["agent.subagent_closed"],
  ): void {
    for (const { from, message } of this.#mail.values()) {
      const sender = from === "person" ? "a person" : "its caller";
      this.#note(at, `It ended before it read this message from ${sender}: ${message}`);
    }
    this.#add({ kind: "note", at, text: `It ended: ${describeStatus(end, reason)}.`, end });
  }

  /** Adds a breadcrumb when a child closes. */
  #seeOther(event: StoredEvent): void {
    const id = event.sub_agent_id ?? "";
    if (event.type === "agent.subagent_created" && this.#children.has(id)) {
      const { call_id: callId, profile } = event.payload;
      this.#begun.set(id, { profile, callId, error: null });
      return;
    }
    const child = this.#begun.get(id);
    if (child === undefined) return;
    if (event.type === "agent.subagent_failed") child.error = event.payload.error;
    if (event.type !== "agent.subagent_closed") return;
    const { close_reason: closeReason, final_status: final, seal } = event.payload;
    const breadcrumb = makeBreadcrumb({
      delegationId: id,
      profile: child.profile,
      capability: this.#children.get(id) ?? null,
      status: statusOf(final, closeReason),
      closeReason,
      summary: final === "failed" && child.error !== null ? child.error : seal.summary,
      at: event.at,
    });
    const { callId } = child;
    this.#add({ kind: "child", at: event.at, ...(callId !== null && { callId }), breadcrumb });
  }
}

/** The entries of a task: its text, context and success criteria. */
function openingEntries(contract: Contract, at: number): SessionEntry[] {
  const { context, description, success_criteria: criteria } = contract.step;
  const notes = [
    ...(context === null ? [] : [`Context: ${context}`]),
    ...criteria.map((criterion) => `Success criterion: ${criterion}`),
  ];
  return [
    { kind: "person", at, text: description },
    ...notes.map((text): SessionEntry => ({ kind: "note", at, text })),
  ];
}
