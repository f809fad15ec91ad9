import { type CallCause, type Cause, closeReasonOf, describeCause } from "../../events/cause.ts";
import type { StoredEvent } from "../../events/event.ts";
import { describeReminder } from "../../events/reminder.ts";
import { describeRunCause, isOfRoot } from "../../events/run-cause.ts";

/** An event without the fields that always differ between two runs. */
export interface ComparableEvent {
  readonly type: string;
  readonly payload: unknown;
  /** The event's number in its own log. */
  readonly seq: number;
}

/** The path under which events of the run itself are compared. */
const ofTheRun = "the run itself";

/**
 * The events of a run, grouped by the path of their delegation in the tree. Times, ids, sequence
 * numbers, hashes and delays are left out. An id inside a text is replaced by the path of the
 * delegation it names. `withAmounts` compares tokens and costs as well: they always differ between
 * two live runs, because results of children contain durations.
 */
export function comparableEvents(
  events: readonly StoredEvent[],
  { withAmounts = false }: { readonly withAmounts?: boolean },
): ReadonlyMap<string, readonly ComparableEvent[]> {
  const paths = delegationPaths(events);
  const leftOut = withAmounts ? incidental : new Set([...incidental, ...amounts]);
  const calls = new CallNames();
  for (const event of events) calls.see(event);
  const name = namesFor(events, paths, calls);
  const found = new Map<string, ComparableEvent[]>();
  for (const event of events) {
    if (isIncidental(event)) continue;
    const { seq, sub_agent_id: id, type } = event;
    const own = id === undefined ? ofTheRun : (paths.get(id) ?? id);
    // The position of a sent message among its receiver's events depends on timing.
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

/**
 * Late results depend on timing alone, claims on which worker was free, and waiting under a limit on
 * what others asked at that time: a replay has none of them.
 */
export function isIncidental(event: StoredEvent): boolean {
  if (event.type === "agent.paused") return event.payload.reason === "limit";
  return event.type === "run.late_result" || event.type === "agent.claimed";
}

/** The payload without fields that depend on the worker or the version. Causes count, their sentences do not. */
function whole(event: StoredEvent, calls: CallNames): unknown {
  switch (event.type) {
    case "run.started":
      return { ...event.payload, spread: undefined };
    case "run.planned":
      return { ...event.payload, first_step: undefined, merge_order: undefined };
    case "agent.subagent_created":
      return { ...event.payload, budget: undefined, bundle: undefined };
    case "agent.tool_started": {
      // The other fields come from the tool's definition, which depends on the version.
      const { call_id, tool } = event.payload;
      return { call_id, tool };
    }
    case "agent.subagent_waiting_for_merge":
      return { ...event.payload, bundle: undefined };
    case "agent.asked": {
      // The wording of the runtime's questions depends on the version. The call, plan or change that
      // such a question is about has events of its own.
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
    case "agent.tool_denied": {
      // Earlier versions did not record the person's reason; the answer that has it is compared.
      const { error: _, said: __, ...rest } = event.payload;
      return rest;
    }
    case "agent.tool_outcome_unknown": {
      const { error: _, ...rest } = event.payload;
      return rest;
    }
    case "agent.interjected": {
      const { message, ...said } = event.payload;
      // The text that a watcher is shown is made from other events.
      if (said.from === "session") return said;
      if (said.cause === undefined) return { ...said, message };
      return { ...said, cause: [said.cause.code, describeReminder(said.cause)] };
    }
    case "run.finished": {
      const { cause, outcome } = event.payload;
      // The root's cause is compared in the root's own events.
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
 * A cause as its code and sentence: earlier versions recorded rounded numbers and shortened lists. They
 * did not record `fault`, `wait_ms` and `said`.
 */
function causeIn(cause: Cause): readonly [code: string, details: string] {
  const known = { ...cause, fault: undefined, wait_ms: undefined, said: undefined };
  return [cause.code, describeCause(known as Cause)];
}

const amounts = ["tokens", "reserved", "prompt", "cost", "bytes"];

export const incidental: ReadonlySet<string> = new Set([
  // Times and delays.
  ...["deadline_at", "delay_ms", "duration"],
  // Ids, and paths that contain one.
  ...["worker", "fence", "up_to", "output_path", "worktree_path", "branch", "taken_from"],
  // Memories and messages have ids, and a replay saves no memory.
  ...["memory", "message_id"],
  // Hashes over ids or times. Hashes of files are compared.
  ...["contract_hash", "output_hash", "hash", "commit", "base_ref"],
]);

type Rename = (text: string) => string;

/** A value, or a text that is JSON, with ids renamed and without the fields in `leftOut`. */
export function plainValue(value: unknown, rename: Rename, leftOut: ReadonlySet<string>): unknown {
  if (typeof value === "string") {
    // Results of children are JSON in a text, with times and hashes inside.
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

/** Text that looks like an id. Only those that the run's events contain are renamed. */
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

/** The delegation whose call ids the event contains: the first event of a child names its caller's call. */
function callerIn(event: StoredEvent): string {
  if (event.type === "agent.subagent_created") return event.payload.parent_id ?? "";
  if (event.type === "run.planned") return event.payload.by;
  return event.sub_agent_id ?? "";
}

/** Models choose the ids of calls, unique only within one delegation. They are replaced by numbers. */
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

  /** Renames the id of a call. Children of one call have its id, a slash and a key. */
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

/** The path of each delegation in the tree of its run: `boss`, `boss › 2 writer`. */
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
      // The checker reports a cycle in a log; here the recursion only has to end.
      if (paths.has(id)) continue;
      paths.set(id, path);
      visit(id, path);
    }
  };
  visit(null, "");
  return paths;
}
