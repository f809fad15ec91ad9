import {
  type CallCause,
  type Cause,
  closeReasonOf,
  describeCause,
  describeReminder,
  describeRunCause,
  isOfRoot,
} from "../../events/cause.ts";
import type { StoredEvent } from "../../events/event.ts";

/** An event without what no two runs can have in common. */
export interface ComparableEvent {
  readonly type: string;
  readonly payload: unknown;
  /** Where it stands in its own log. */
  readonly seq: number;
}

/** The events of the run itself, beside those of its delegations. */
const ofTheRun = "the run itself";

/**
 * The events of a run by the place of their delegation in the tree. Times, ids, sequence numbers,
 * hashes and delays are left out; an id that is part of a text is named after whom it stands for.
 * `withAmounts`: tokens and costs count as well, which no two live runs have in common, since what
 * a caller is told of its children says how long they took.
 */
export function comparableEvents(
  events: readonly StoredEvent[],
  withAmounts: boolean,
): ReadonlyMap<string, readonly ComparableEvent[]> {
  const paths = delegationPaths(events);
  const leftOut = withAmounts ? incidental : new Set([...incidental, ...amounts]);
  const calls = new CallNames();
  for (const event of events) calls.see(event);
  const name = namesFor(events, paths, calls);
  const found = new Map<string, ComparableEvent[]>();
  for (const event of events) {
    // That something came too late is about time alone, and who worked on it is no part of it.
    if (event.type === "run.late_result" || event.type === "agent.claimed") continue;
    const { seq, sub_agent_id: id, type } = event;
    const own = id === undefined ? ofTheRun : (paths.get(id) ?? id);
    // Between which events of its receiver a message was sent is a matter of time.
    const path = type === "agent.message_sent" ? `messages to ${own}` : own;
    const comparable = {
      type,
      payload: plainValue(whole(event, calls), name(event), leftOut),
      seq,
    };
    const others = found.get(path);
    if (others) others.push(comparable);
    else found.set(path, [comparable]);
  }
  return found;
}

/** Without what differs by worker or by version: causes count, and the sentences made of them do not. */
function whole(event: StoredEvent, calls: CallNames): unknown {
  switch (event.type) {
    case "run.started":
      return { ...event.payload, spread: undefined };
    case "run.planned":
      return { ...event.payload, first_step: undefined, merge_order: undefined };
    case "agent.subagent_created":
      return { ...event.payload, budget: undefined, bundle: undefined };
    case "agent.tool_started": {
      // What a tool is, its definition says, and that is a matter of the version.
      const { call_id, tool } = event.payload;
      return { call_id, tool };
    }
    case "agent.subagent_waiting_for_merge":
      return { ...event.payload, bundle: undefined };
    case "agent.asked": {
      // How the runtime words a question is a matter of its version. The call, plan, change or answer
      // that the question is about has events of its own.
      const { about: _, question, ...asked } = event.payload;
      const isOwn = asked.kind === undefined && calls.has(event.sub_agent_id, asked.call_id);
      return isOwn ? { ...asked, question } : asked;
    }
    case "agent.subagent_failed":
      return { code: event.payload.code, cause: causeIn(event.payload.cause) };
    case "agent.retried": {
      const { cause, next, what } = event.payload;
      return { what, cause: causeIn(cause), next };
    }
    case "agent.interrupted": {
      const { cause, reason: _, ...interrupted } = event.payload;
      return { ...interrupted, cause: causeIn(cause) };
    }
    case "agent.tool_failed": {
      const { error, ...failed } = event.payload;
      return isToolsOwn(failed.cause) ? { ...failed, error } : failed;
    }
    case "agent.tool_denied":
    case "agent.tool_outcome_unknown": {
      const { error: _, ...rest } = event.payload;
      return rest;
    }
    case "agent.interjected": {
      const { message, ...said } = event.payload;
      // A watcher is shown what the events say that it is shown.
      if (said.from === "session") return said;
      if (said.cause === undefined) return { ...said, message };
      return { ...said, cause: [said.cause.code, describeReminder(said.cause)] };
    }
    case "run.finished": {
      const { cause, outcome } = event.payload;
      // Why its root failed is compared where it did.
      return { outcome, cause: isOfRoot(cause) ? closeReasonOf(cause) : describeRunCause(cause) };
    }
    default:
      return event.payload;
  }
}

function isToolsOwn({ code }: CallCause): boolean {
  return code === "tool_error" || code === "not_approved";
}

/**
 * A cause with what its details come to: those of earlier versions were read from rounded numbers and
 * shortened lists. Which kind of fault it was, and how long to wait for it, they did not record.
 */
function causeIn(cause: Cause): readonly [code: string, details: string] {
  const { fault: _, wait_ms: __, ...rest } = cause as Extract<Cause, { code: "model_unavailable" }>;
  return [cause.code, describeCause(rest)];
}

const amounts = ["tokens", "reserved", "prompt", "cost", "bytes"];

export const incidental: ReadonlySet<string> = new Set([
  // Times and delays.
  ...["deadline_at", "delay_ms", "duration"],
  // Ids that are no more than that, and places that are named after one.
  ...["worker", "fence", "up_to", "output_path", "worktree_path", "branch", "taken_from"],
  // A memory has an id, and a replay saves none. So has a message.
  ...["memory", "message_id"],
  // Hashes of what has ids or times in it. Those of files stay: they are what was made.
  ...["contract_hash", "output_hash", "hash", "commit", "base_ref"],
]);

type Rename = (text: string) => string;

/** A value, or a text that is one, with ids renamed and without the fields that are left out. */
export function plainValue(value: unknown, rename: Rename, leftOut: ReadonlySet<string>): unknown {
  if (typeof value === "string") {
    // What a caller is told of its children has times and hashes in it as well.
    const written = asWritten(value);
    return written === undefined ? rename(value) : plainValue(written, rename, leftOut);
  }
  if (Array.isArray(value)) return value.map((each) => plainValue(each, rename, leftOut));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value)
    .filter(([key, each]) => each !== undefined && !leftOut.has(key))
    .map(([key, each]): [string, unknown] => [key, plainValue(each, rename, leftOut)]);
  return Object.fromEntries(entries);
}

function asWritten(text: string): object | undefined {
  if (!/^[[{]/.test(text) || text.length > longestWritten) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

const longestWritten = 1_000_000;

/** Looks like an id of ours; which of them is one, the run's own events say. */
const idLike = /\b[rq]?(?:[0-9a-f]{8}|[0-9a-f]{6})\b/g;

function namesFor(
  events: readonly StoredEvent[],
  paths: ReadonlyMap<string, string>,
  calls: CallNames,
): (event: StoredEvent) => Rename {
  const shared = new Map<string, string>();
  for (const [id, path] of paths) shared.set(id, `<${path}>`);
  const asks = new Map<string, number>();
  for (const event of events) {
    const { sub_agent_id: id = "" } = event;
    shared.set(event.run_id, "<run>");
    if (event.type !== "agent.asked") continue;
    const count = (asks.get(id) ?? 0) + 1;
    asks.set(id, count);
    shared.set(event.payload.ask_id, `<question ${count} of ${paths.get(id) ?? id}>`);
  }
  return (event) => {
    const own = calls.of(callerIn(event));
    return (text) => own(text) ?? text.replace(idLike, (id) => shared.get(id) ?? id);
  };
}

/** Whose calls an event speaks of: a child's first event names the call that made it. */
function callerIn(event: StoredEvent): string {
  if (event.type === "agent.subagent_created") return event.payload.parent_id ?? "";
  if (event.type === "run.planned") return event.payload.by;
  return event.sub_agent_id ?? "";
}

/** Ids of calls are the model's own words, and unique only within one delegation: they are counted. */
class CallNames {
  readonly #names = new Map<string, Map<string, string>>();

  see({ payload, sub_agent_id: id, type }: StoredEvent): void {
    if (type === "agent.model_turn") for (const call of payload.calls ?? []) this.#add(id, call.id);
    else if (type === "agent.tool_started") this.#add(id, payload.call_id);
  }

  #add(delegation = "", call: string): void {
    const own = this.#names.get(delegation) ?? new Map<string, string>();
    this.#names.set(delegation, own);
    if (!own.has(call)) own.set(call, `<call ${own.size + 1}>`);
  }

  has(delegation = "", call: string): boolean {
    return this.#names.get(delegation)?.has(call) === true;
  }

  /** The call itself, or a part of it: the children of one call are told apart by what follows. */
  of(delegation: string): (text: string) => string | undefined {
    const own = this.#names.get(delegation);
    return (text) => {
      const whole = own?.get(text);
      if (whole !== undefined || own === undefined) return whole;
      const slash = text.lastIndexOf("/");
      const call = slash < 0 ? undefined : own.get(text.slice(0, slash));
      return call === undefined ? undefined : call + text.slice(slash);
    };
  }
}

/** Where each delegation stands in the tree of its run: `boss`, `boss › 2 writer`. */
function delegationPaths(events: readonly StoredEvent[]): ReadonlyMap<string, string> {
  const created = events.filter((event) => event.type === "agent.subagent_created");
  const children = Map.groupBy(created, ({ payload }) => payload.parent_id);
  const paths = new Map<string, string>();
  const visit = (parent: string | null, above: string): void => {
    const siblings = [...(children.get(parent) ?? [])].sort(
      (one, other) => one.payload.step_idx - other.payload.step_idx,
    );
    for (const [index, { payload, sub_agent_id: id = "" }] of siblings.entries()) {
      const isRoot = parent === null && index === 0;
      const own = isRoot ? payload.profile : `${index + 1} ${payload.profile}`;
      const path = above === "" ? own : `${above} › ${own}`;
      // A log that goes in circles is for the checker; here it must only not go on for ever.
      if (paths.has(id)) continue;
      paths.set(id, path);
      visit(id, path);
    }
  };
  visit(null, "");
  return paths;
}
