import type { RunGrant } from "../../contracts/run-grant.ts";
import type { NewEvent, StoredEvent } from "../../events/event.ts";
import type { Store } from "../../ports/store.ts";
import { MergeOrder } from "../changes/merge-order.ts";
import type { EngineParts } from "../engine-parts.ts";
import type { LiveDelegation } from "../live-delegation.ts";
import { LiveRun } from "../live-run.ts";
import type { DelegationContext } from "../middleware.ts";
import { revive } from "../recovery/hydrate.ts";
import { recoverDelegation, recoverRun } from "../recovery/recover.ts";
import { Scheduler } from "../scheduler.ts";
import { localExecution } from "../work.ts";
import { Course, followCourse } from "./course.ts";
import { type RecordedBounds, recordedBounds } from "./recorded-bounds.ts";
import { recordedStops } from "./recorded-stops.ts";
import { type RecordedTakeover, recordedTakeovers } from "./recorded-takeovers.ts";
import type { RecordedDelegation, Recording } from "./recording.ts";
import { type AgentOptions, createAgent, liveAgentFor } from "./replay-agents.ts";
import { scheduleInputs } from "./replay-inputs.ts";
import { replayParts } from "./replay-parts.ts";
import { ReplayStore } from "./replay-store.ts";

/**
 * One replay of a run: the engine's own loop, gate, budgets and closing, under the recorded contracts,
 * with the recording as its only source.
 */
export class Replayer {
  readonly recording: Recording;
  readonly course: Course;
  readonly store: ReplayStore;
  /** Replaced after each recorded recovery. */
  run: LiveRun;
  readonly #parts: EngineParts;
  readonly #bounds: RecordedBounds;
  readonly #scheduler: ReplayScheduler;
  readonly #merges: RecordedOrder;
  #workers = 0;
  /** While the run is being recovered: resolves when every delegation can be found. */
  #recovering: Promise<void> | null = null;

  constructor(recording: Recording, source: Store, memory: Store) {
    const stops = recordedStops(recording.events);
    this.recording = recording;
    const takeovers = recordedTakeovers(recording);
    this.course = new Course(recording.events, takeovers);
    this.store = new ReplayStore({ memory, source, recording, course: this.course });
    this.#bounds = recordedBounds(recording);
    this.#merges = new RecordedOrder(recording, this.course);
    const scheduler = new ReplayScheduler();
    this.#scheduler = scheduler;
    this.#parts = replayParts({
      store: this.store.store,
      recording,
      course: this.course,
      find: (id) => this.run.delegations.byId.get(id),
      makeChild: (id) => this.createAgain(id),
      live: (about, next) => this.#live(about, next),
      scheduler,
      bounds: this.#bounds,
    });
    const { budget, task, workspace } = recording.started;
    const settings = {
      id: recording.runId,
      task,
      workspace,
      tokens: budget.tokens,
      ownership: memory.ownership,
      grant: noGrant,
      readOnly: false,
    };
    this.run = new LiveRun(this.#parts, settings, localExecution);
    scheduleInputs(this, stops, takeovers);
  }

  begin(): void {
    const [root] = this.recording.delegations.keys();
    if (root !== undefined) this.createAgain(root);
  }

  /** Creates a recorded delegation. After a recovery a repeated call finds the child that it had made. */
  createAgain(id: string): void {
    const { recording, run } = this;
    const recorded = recording.delegations.get(id);
    if (recorded === undefined || run.delegations.byId.has(id)) return;
    const isFirst = run.delegations.byId.size === 0;
    // One process replays all of it, and every reservation fitted when it was written.
    const { spread: _, ...started } = recording.started;
    const before: NewEvent[] = isFirst
      ? [{ type: "run.started", payload: { ...started, ...run.settings.ownership } }]
      : [];
    const agent = createAgent(this.#optionsFor(recorded), before);
    if (isFirst) run.delegations.root = agent;
  }

  /**
   * Simulates that one delegation is lost by its worker and claimed by another one, which knows it by the
   * log alone. Its children go on.
   */
  async takeOver({ delegationId: id, resumed }: RecordedTakeover): Promise<void> {
    const { course, recording, run } = this;
    const { store } = this.store;
    const old = run.delegations.byId.get(id);
    if (old === undefined || old.process.end.result !== null) return;
    stopUnwritten(old);
    // Earlier appends are committed, and stopped work has ended.
    await new Promise((resolve) => setImmediate(resolve));
    course.takeOver(id);
    if (resumed !== null) {
      const { payload, type } = resumed;
      const events = [{ type, sub_agent_id: id, payload }];
      await store.append({ runId: recording.runId, by: "operator", events });
    }
    const state = await store.readRun(recording.runId);
    const delegation = state?.delegations.get(id);
    if (state === undefined || delegation === undefined) return;
    const events: StoredEvent[] = [];
    for await (const event of store.readEvents({ delegationId: id })) events.push(event);
    old.budget.follow(null);
    forget(run, old);
    const again = await revive(run, state, delegation, { events, budget: old.budget });
    again.process.children = old.process.children;
    again.process.nextStep = old.process.nextStep;
    for (const child of again.process.children) child.parent = again;
    again.process.merges = this.#merges;
    followCourse(again, course);
    await recoverDelegation(again, delegation);
  }

  /** Simulates the death of the worker, and the recovery by another one. */
  recover(isResumed: boolean): void {
    this.store.killWorker();
    this.abandon();
    const worker = ++this.#workers;
    // In the next turn of the event loop, earlier appends are committed and stopped work has ended.
    setImmediate(() => {
      if (worker === this.#workers) void this.#recover(worker, isResumed).catch(() => undefined);
    });
  }

  /** Stops everything without writing events. */
  abandon(): void {
    const { run } = this;
    run.lost = true;
    for (const agent of run.delegations.byId.values()) stopUnwritten(agent);
  }

  /** Replaces a recovered delegation that had not started by one that waits for its recorded start. */
  #waitAgain(agent: LiveDelegation): void {
    const recorded = this.recording.delegations.get(agent.id);
    if (recorded === undefined) return;
    agent.process.end.isEnding = true;
    const again = liveAgentFor(this.#optionsFor(recorded));
    this.run.delegations.byId.set(again.id, again);
    if (this.run.delegations.root === agent) this.run.delegations.root = again;
    const place = this.run.delegations.topLevel.indexOf(agent);
    if (place >= 0) this.run.delegations.topLevel.splice(place, 1, again);
    if (agent.parent === null) return;
    const { process } = agent.parent;
    process.children = process.children.map((child) => (child === agent ? again : child));
  }

  #optionsFor(recorded: RecordedDelegation): AgentOptions {
    const toolTokens = this.#bounds.toolTokens.get(recorded.id);
    return { run: this.run, recorded, toolTokens, merges: this.#merges, course: this.course };
  }

  async #recover(worker: number, isResumed: boolean): Promise<void> {
    // No delegation runs before all of them can be found.
    this.#scheduler.hold();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#recovering = promise;
    const run = await recoverRun(this.#parts, this.recording.runId, { grant: noGrant, isResumed });
    // The recorded worker may have died as well, during its recovery.
    if (worker !== this.#workers) return;
    if (run !== undefined) {
      this.run = run;
      for (const agent of run.delegations.byId.values()) {
        agent.process.merges = this.#merges;
        followCourse(agent, this.course);
        if (agent.state.status === "created") this.#waitAgain(agent);
      }
    }
    this.#recovering = null;
    this.#scheduler.release();
    resolve();
  }

  /** A watcher takes no slot: it is delayed here during a recovery, and subscribes here. */
  async #live({ contract, delegationId: id }: DelegationContext, next: () => Promise<void>) {
    if (contract.parent.watches === undefined) return next();
    if (this.#recovering !== null) {
      await this.#recovering;
      // The delegation had not started: its replacement waits instead.
      const agent = this.run.delegations.byId.get(id);
      if (agent === undefined || agent.process.end.isEnding || agent.state.status === "created")
        return;
    }
    return this.store.whileStarting(id, next);
  }
}

/** Stops its work without writing events. */
function stopUnwritten({ process: { end, time }, work }: LiveDelegation): void {
  if (end.isEnding) return;
  end.isEnding = true;
  work.stop({ code: "owned_elsewhere" });
  time.end();
}

/** Another live delegation takes its place. */
function forget({ delegations }: LiveRun, { id, parent }: LiveDelegation): void {
  const place = delegations.topLevel.findIndex((one) => one.id === id);
  if (place >= 0) delegations.topLevel.splice(place, 1);
  if (parent === null) return;
  parent.process.children = parent.process.children.filter((child) => child.id !== id);
}

/** A replay grants nothing: grants are in the recorded contracts. */
const noGrant: RunGrant = {
  authority: {
    tools: [],
    skills: [],
    mcp_servers: [],
    models: [],
    scopes: [],
    write_roots: [],
    network: [],
  },
  sessionTools: [],
  principal: { id: "replay", role: "viewer" },
  depth: 0,
  timeMs: 0,
  cost: null,
};

/** Slots are recorded: a replay delays no delegation, except during a recovery. */
class ReplayScheduler extends Scheduler {
  #held: (() => void)[] | null = null;

  constructor() {
    super(Number.POSITIVE_INFINITY);
  }

  override enter(start: () => void): void {
    if (this.#held) this.#held.push(start);
    else super.enter(start);
  }

  /** Forgets those held before: their worker has died. */
  hold(): void {
    this.#held = [];
  }

  release(): void {
    const held = this.#held ?? [];
    this.#held = null;
    for (const start of held) super.enter(start);
  }
}

/** The recorded order of merges: a delegation's turn comes with its recorded merge, or never. */
class RecordedOrder extends MergeOrder {
  readonly #merges: ReadonlyMap<string, number>;
  readonly #course: Course;

  constructor(recording: Recording, course: Course) {
    super();
    this.#merges = mergesIn(recording);
    this.#course = course;
  }

  override get hasAny(): boolean {
    return true;
  }

  override turn(_step: number, id: string): Promise<void> {
    const seq = this.#merges.get(id);
    return seq === undefined ? new Promise(() => undefined) : this.#course.arrival(seq);
  }
}

/** By delegation, because steps of different callers have the same numbers. */
function mergesIn({ delegations }: Recording): ReadonlyMap<string, number> {
  const merges = new Map<string, number>();
  for (const [id, { events }] of delegations) {
    const merge = events.find(({ type }) => type === "agent.worktree_merged");
    if (merge) merges.set(id, merge.seq);
  }
  return merges;
}
