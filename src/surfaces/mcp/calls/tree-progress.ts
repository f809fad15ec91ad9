import { type Delegation, shownName } from "../../../events/delegation.ts";
import { childrenByParent, type RunState } from "../../../events/run-state.ts";
import { atMost, spentOf, sumOf } from "../../../events/spent.ts";
import type { Clock, Timer } from "../../../ports/clock.ts";
import type { Store } from "../../../ports/store.ts";
import { headOf } from "../../../text.ts";
import { printableLine } from "../../cli/printable.ts";
import { describeActivity } from "../../cli/tree-rows.ts";
import type { CallProgress } from "../mcp-tool.ts";

const beginning = "starting";

/** `tops`: the delegations of the call; everything below them counts. */
function describeTree(run: RunState, tops: readonly string[], now: number): string {
  const below = childrenByParent(run);
  const all: Delegation[] = [];
  const visit = (delegation: Delegation): void => {
    all.push(delegation);
    for (const child of below.get(delegation.id) ?? []) visit(child);
  };
  const roots = tops.flatMap((id) => run.delegations.get(id) ?? []);
  for (const root of roots) visit(root);
  if (all.length === 0) return beginning;
  const activity = (one: Delegation): string => {
    const doing = describeDoing(one, below.get(one.id) ?? [], now);
    return `${printableLine(shownName(one))} ${one.id}: ${doing}`;
  };
  const open = all.filter(({ status }) => status !== "closed");
  const [root = all[0]] = roots;
  const first = roots.length === 1 ? root : open[0];
  // The deepest delegation at work, for the one that waits.
  const worker = open.findLast((one) => one !== first && isAtWork(one));
  const done = all.length - open.length;
  const spent = sumOf(all.map(spentOf));
  const parts = [
    ...(first === undefined ? [] : [activity(first)]),
    ...(worker === undefined ? [] : [activity(worker)]),
    ...(all.length === 1 ? [] : [countDone(roots, all, done)]),
    atMost(`${spent.tokens.toLocaleString("en-US")} tokens`, spent),
  ];
  return parts.join(" · ");
}

function describeDoing(one: Delegation, below: readonly Delegation[], now: number): string {
  const waitingOn = one.status === "running" ? one.waitingOn : undefined;
  if (waitingOn?.on === "model" && (waitingOn.until ?? now) <= now) return "waiting on model";
  if (waitingOn?.on === "tool") return `running ${headOf(printableLine(waitingOn.detail), 100)}`;
  const notes = { budget: null, refusals: 0, attempts: one.attempt, resumptions: 0 };
  return describeActivity(one, { below, notes, isInterrupted: false, now });
}

function countDone(roots: readonly Delegation[], all: readonly Delegation[], done: number): string {
  if (roots.length > 1) return `${done} of ${all.length} sub-agents done`;
  const isRootDone = roots[0]?.status === "closed";
  return `${done - (isRootDone ? 1 : 0)} of ${all.length - 1} children done`;
}

function isAtWork(delegation: Delegation): boolean {
  return delegation.status === "running" && delegation.waitingOn.on !== "child";
}

/** At most four reports a second, and one every ten seconds without news as a heartbeat. */
const shortestMs = 250;
const heartbeatMs = 10_000;

interface TreeProgressOptions {
  readonly store: Pick<Store, "readRun" | "subscribe">;
  readonly report: (progress: CallProgress) => void;
  readonly clock: Clock;
}

/**
 * Reports the progress of the tree below an open call. The protocol wants a number that increases:
 * reports are counted, because how much work is left is not known.
 */
export class TreeProgress {
  readonly #options: TreeProgressOptions;
  readonly #tops: string[] = [];
  #runId: string | undefined;
  #reports = 0;
  #lastAt = Number.NEGATIVE_INFINITY;
  #timer: Timer | undefined;
  #unsubscribe: (() => void) | undefined;
  #isOver = false;

  constructor(options: TreeProgressOptions) {
    this.#options = options;
  }

  /** `tops`: the delegations that the call has started so far. */
  follow(runId: string, tops: readonly string[]): void {
    this.#runId = runId;
    this.#tops.push(...tops);
    this.#unsubscribe = this.#options.store.subscribe((events) => {
      if (events.some((event) => event.run_id === runId)) this.#schedule(shortestMs);
    });
    this.#schedule(shortestMs);
  }

  add(top: string): void {
    this.#tops.push(top);
  }

  /** Sends the last report, before the result. */
  async end(): Promise<void> {
    this.#unsubscribe?.();
    this.#timer?.cancel();
    this.#isOver = true;
    // A refused call has no progress.
    if (this.#tops.length > 0) this.#report(await this.#describe());
  }

  #schedule(ms: number): void {
    const { clock } = this.#options;
    const dueIn = Math.max(0, this.#lastAt + ms - clock.monotonic());
    this.#timer?.cancel();
    this.#timer = clock.after(dueIn, () => void this.#tell()).unref();
  }

  async #tell(): Promise<void> {
    const message = await this.#describe();
    if (this.#isOver) return;
    this.#report(message);
    this.#schedule(heartbeatMs);
  }

  async #describe(): Promise<string> {
    if (this.#runId === undefined) return beginning;
    const { clock, store } = this.#options;
    const run = await store.readRun(this.#runId).catch(() => undefined);
    return run === undefined ? beginning : describeTree(run, this.#tops, clock.now());
  }

  #report(message: string): void {
    this.#lastAt = this.#options.clock.monotonic();
    this.#options.report({ progress: ++this.#reports, message });
  }
}
