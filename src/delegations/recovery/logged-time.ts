import { externalProvider } from "../../contracts/contract.ts";
import { type Delegation, openAskOf } from "../../events/delegation.ts";
import type { StoredEvent } from "../../events/event.ts";
import { apply, create } from "../../events/lifecycle.ts";
import type { Store } from "../../ports/store.ts";
import { followCalls, type MutableCalls } from "../live-delegation.ts";
import { standsStill } from "../working-time.ts";

export interface UsedTime {
  /** The used part of the total deadline. */
  readonly totalMs: number;
  /** The used part of the latest attempt's deadline. */
  readonly attemptMs: number;
}

interface Known {
  readonly parent: Known | undefined;
  state: Delegation;
  readonly openCalls: MutableCalls;
  /** How many of its children only wait for a person. */
  below: number;
  /** Since when it only waits for a person; null: it does not. */
  stillSince: number | null;
  /** When its latest event was written, and how much of the time since then it stood still. */
  last: number;
  stood: number;
  totalMs: number;
  attemptMs: number;
}

interface TimeLimits {
  /** The longest silence of a delegation that is believed. */
  longest(id: string): number;
  /** Whether a call of this tool does nothing but wait. */
  isWaiting(tool: string): boolean;
}

/**
 * How much of its deadlines each delegation has used, by the log of its run, whose events are seen
 * in order. Wall clocks jump, and those of several machines differ: a step back counts for nothing,
 * the time before a recovery for nothing either, except in a distributed run, and no silence for more
 * than `longest`. So a delegation may get too much time after a crash, and none ends because a clock was set. Time that
 * only waits for a person, or rests, does not count.
 */
export class LoggedTime {
  readonly #known = new Map<string, Known>();
  readonly #limits: TimeLimits;

  constructor(limits: TimeLimits) {
    this.#limits = limits;
  }

  see(event: StoredEvent): void {
    const { at, sub_agent_id: id = "" } = event;
    if (event.type === "agent.subagent_created") {
      const state = create(event);
      const parent = this.#known.get(state.parentId ?? "");
      const none = { below: 0, stillSince: null, stood: 0, totalMs: 0, attemptMs: 0 };
      this.#known.set(id, { parent, state, openCalls: new Map(), last: at, ...none });
      return;
    }
    const known = this.#known.get(id);
    if (known === undefined) return;
    const { longest } = this.#limits;
    if (known.state.status === "running" && event.type !== "agent.resumed") {
      // A worker of a distributed run died, and its fleet is still there: that time counts.
      const isTakeover = event.type === "agent.claimed";
      this.#count(known, at, isTakeover ? longestTakeover(10 * longest(id)) : longest(id));
    }
    known.state = apply(known.state, event);
    if (event.type === "agent.subagent_attempt") known.attemptMs = 0;
    followCalls(known.openCalls, event);
    known.last = at;
    known.stood = 0;
    considerStill(known, at);
  }

  of(id: string): UsedTime {
    const { totalMs, attemptMs } = this.#known.get(id) ?? noTime;
    return { totalMs, attemptMs };
  }

  /** What it has used of the whole at a later moment; null: its time does not run. */
  totalAt(id: string, at: number): number | null {
    const known = this.#known.get(id);
    if (known === undefined || known.stillSince !== null || isResting(known)) return null;
    return known.totalMs + Math.min(silence(known, at), this.#limits.longest(id));
  }

  #count(known: Known, at: number, longest: number): void {
    if (isResting(known)) return;
    const { openCalls, state } = known;
    known.totalMs += Math.min(silence(known, at), longest);
    const isIdle =
      openAskOf(state) !== null ||
      (state.status === "running" && state.waitingOn.on === "budget") ||
      (openCalls.size > 0 && openCalls.values().every(({ tool }) => this.#limits.isWaiting(tool)));
    if (!isIdle) known.attemptMs += Math.min(Math.max(0, at - known.last), longest);
  }
}

const noTime: UsedTime = Object.freeze({ totalMs: 0, attemptMs: 0 });

function silence({ last, stillSince, stood }: Known, at: number): number {
  const still = stillSince === null ? 0 : Math.max(0, at - Math.max(stillSince, last));
  return Math.max(0, at - last - stood - still);
}

function isResting({ state }: Known): boolean {
  if (state.status !== "running") return false;
  return state.interruption !== null || state.waitingOn.on === "paused";
}

/** A change here may change those above it. */
function considerStill(known: Known, at: number): void {
  const { below, last, openCalls, parent, state, stillSince } = known;
  const isStill = standsStill(state, openCalls, below);
  if (isStill === (stillSince !== null)) return;
  if (stillSince !== null) known.stood += Math.max(0, at - Math.max(stillSince, last));
  known.stillSince = isStill ? at : null;
  if (parent === undefined) return;
  parent.below += isStill ? 1 : -1;
  considerStill(parent, at);
}

/** The longest silence that is believed: a clock that was set by all of `total` ends no delegation. */
export function longestSilence(total: number): number {
  return total / 10;
}

/** The longest silence that is believed before another worker of the fleet claims a delegation. */
export function longestTakeover(total: number): number {
  return Math.max(60_000, longestSilence(total));
}

export interface Overdue {
  readonly runId: string;
  readonly delegationId: string;
  readonly depth: number;
  /** The total deadline of the delegation. */
  readonly totalMs: number;
}

/** Since when a worker does nothing, by the wall, and for how long, by a clock that cannot jump. */
export interface Standstill {
  readonly since: number;
  readonly ms: number;
}

/**
 * The delegations of a worker that stands still which have used all of their time and `graceMs`
 * more, callers before those below them. For another thread or process: the worker itself is blocked.
 */
export async function findOverdue(
  store: Store,
  worker: string,
  { since, ms }: Standstill,
  graceMs: number,
): Promise<readonly Overdue[]> {
  const found: Overdue[] = [];
  for (const { id: runId } of await store.listRuns({ open: true, limit: 10_000 })) {
    const run = await store.readRun(runId);
    if (run === undefined) continue;
    const late = new Map<string, Overdue>();
    for (const { depth, id, share, startedAt, status } of run.delegations.values()) {
      if (status !== "running" || startedAt === null) continue;
      if ((share?.worker ?? run.worker) !== worker) continue;
      const { deadlines, model } = await store.readContract(id);
      // An agent that another program runs tells us no more than that it exists.
      if (model.provider === externalProvider || since - startedAt + ms <= deadlines.total)
        continue;
      late.set(id, { runId, delegationId: id, depth, totalMs: deadlines.total });
    }
    if (late.size === 0) continue;
    const time = new LoggedTime({
      longest: (id) => longestSilence(late.get(id)?.totalMs ?? 0),
      isWaiting: () => false,
    });
    for await (const event of store.readEvents({ runId })) time.see(event);
    for (const one of late.values()) {
      const used = time.totalAt(one.delegationId, since);
      if (used !== null && used + ms > one.totalMs + graceMs) found.push(one);
    }
  }
  return found.sort((one, other) => one.depth - other.depth);
}
