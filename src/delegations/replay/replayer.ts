import type { RunGrant } from "../../contracts/run-grant.ts";
import type { NewEvent } from "../../events/event.ts";
import type { Store } from "../../ports/store.ts";
import { MergeOrder } from "../changes/merge-order.ts";
import type { EngineParts } from "../engine-parts.ts";
import type { LiveDelegation } from "../live-delegation.ts";
import { LiveRun } from "../live-run.ts";
import type { DelegationContext } from "../middleware.ts";
import { recoverRun } from "../recovery/recover.ts";
import { localExecution } from "../work.ts";
import { Scheduler } from "../working-time.ts";
import { Course, keepPace } from "./course.ts";
import { type RecordedBounds, recordedBounds } from "./recorded-bounds.ts";
import { recordedStops } from "./recorded-stops.ts";
import type { RecordedDelegation, Recording } from "./recording.ts";
import { agentFor, type MakeAgentOptions, makeAgent } from "./replay-agents.ts";
import { letInInputs } from "./replay-inputs.ts";
import { replayParts } from "./replay-parts.ts";
import { ReplayStore } from "./replay-store.ts";

/**
 * One run that happens again: the engine's own loop, gate, budgets and closing, on the recorded
 * contracts, with nothing around it but the recording.
 */
export class Replayer {
  readonly recording: Recording;
  readonly course: Course;
  readonly store: ReplayStore;
  /** Another one after each time that its process had died. */
  run: LiveRun;
  readonly #parts: EngineParts;
  readonly #bounds: RecordedBounds;
  readonly #scheduler: ReplayScheduler;
  readonly #merges: RecordedOrder;
  #workers = 0;
  /** While a run is being taken up: until everybody can be found. */
  #takingUp: Promise<void> | null = null;

  constructor(recording: Recording, source: Store, memory: Store) {
    const stops = recordedStops(recording.events);
    this.recording = recording;
    this.course = new Course(recording.events);
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
      makeChild: (id) => this.makeAgain(id),
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
      grant: nobody,
      readOnly: false,
    };
    this.run = new LiveRun(this.#parts, settings, localExecution);
    letInInputs(this, stops);
  }

  begin(): void {
    const [root] = this.recording.delegations.keys();
    if (root !== undefined) this.makeAgain(root);
  }

  /** After its process had died, a call that comes again finds the child that it had made. */
  makeAgain(id: string): void {
    const { recording, run } = this;
    const recorded = recording.delegations.get(id);
    if (recorded === undefined || run.delegations.byId.has(id)) return;
    const isFirst = run.delegations.byId.size === 0;
    const before: NewEvent[] = isFirst
      ? [{ type: "run.started", payload: { ...recording.started, ...run.settings.ownership } }]
      : [];
    const agent = makeAgent(this.#optionsFor(recorded), before);
    if (isFirst) run.delegations.root = agent;
  }

  /** Its process dies here, and another one takes the run up. */
  recoverAgain(isResumed: boolean): void {
    this.store.killWorker();
    this.abandon();
    const worker = ++this.#workers;
    // What was written until now is there, and what was let go of comes to rest.
    setImmediate(() => {
      if (worker === this.#workers) void this.#recover(worker, isResumed).catch(() => undefined);
    });
  }

  /** Nothing more is written, and nobody is told. */
  abandon(): void {
    const { run } = this;
    run.lost = true;
    for (const agent of run.delegations.byId.values()) {
      const { end, time } = agent.process;
      if (end.isEnding) continue;
      end.isEnding = true;
      agent.work.stop({ code: "owned_elsewhere" });
      time.end();
    }
  }

  /** It had not begun: it gets its place by name, and its slot when it got one. */
  #waitAgain(agent: LiveDelegation): void {
    const recorded = this.recording.delegations.get(agent.id);
    if (recorded === undefined) return;
    agent.process.end.isEnding = true;
    const again = agentFor(this.#optionsFor(recorded));
    this.run.delegations.byId.set(again.id, again);
    if (this.run.delegations.root === agent) this.run.delegations.root = again;
    const place = this.run.delegations.topLevel.indexOf(agent);
    if (place >= 0) this.run.delegations.topLevel.splice(place, 1, again);
    if (agent.parent === null) return;
    const { process } = agent.parent;
    process.children = process.children.map((child) => (child === agent ? again : child));
  }

  #optionsFor(recorded: RecordedDelegation): MakeAgentOptions {
    const toolTokens = this.#bounds.toolTokens.get(recorded.id);
    return { run: this.run, recorded, toolTokens, merges: this.#merges, course: this.course };
  }

  async #recover(worker: number, isResumed: boolean): Promise<void> {
    // Nobody works before everybody can be found.
    this.#scheduler.hold();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#takingUp = promise;
    const run = await recoverRun(this.#parts, this.recording.runId, nobody, isResumed);
    // It may have died as well, while it took the run up.
    if (worker !== this.#workers) return;
    if (run !== undefined) {
      this.run = run;
      for (const agent of run.delegations.byId.values()) {
        agent.process.merges = this.#merges;
        keepPace(agent, this.course);
        if (agent.state.status === "created") this.#waitAgain(agent);
      }
    }
    this.#takingUp = null;
    this.#scheduler.release();
    resolve();
  }

  /** A watcher needs no slot: it is held up here, and gets its feed here, when it is taken up too. */
  async #live({ contract, delegationId: id }: DelegationContext, next: () => Promise<void>) {
    if (contract.parent.watches === undefined) return next();
    if (this.#takingUp !== null) {
      await this.#takingUp;
      // It had not begun: another one waits in its place.
      const agent = this.run.delegations.byId.get(id);
      if (agent === undefined || agent.process.end.isEnding || agent.state.status === "created")
        return;
    }
    return this.store.whileStarting(id, next);
  }
}

/** A replay makes nothing that was not granted then: what is granted is in the contracts. */
const nobody: RunGrant = {
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

/** Who got a slot when is recorded: in a replay nobody waits for one, unless all have to. */
class ReplayScheduler extends Scheduler {
  #held: (() => void)[] | null = null;

  constructor() {
    super(Number.POSITIVE_INFINITY);
  }

  override enter(start: () => void): void {
    if (this.#held) this.#held.push(start);
    else super.enter(start);
  }

  /** Those who were held before are forgotten: their worker has died. */
  hold(): void {
    this.#held = [];
  }

  release(): void {
    const held = this.#held ?? [];
    this.#held = null;
    for (const start of held) super.enter(start);
  }
}

/** When whose work was taken over is recorded: its turn comes when its merge does, or never. */
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

/** By delegation: steps have the same numbers below different callers. */
function mergesIn({ delegations }: Recording): ReadonlyMap<string, number> {
  const merges = new Map<string, number>();
  for (const [id, { events }] of delegations) {
    const merge = events.find(({ type }) => type === "agent.worktree_merged");
    if (merge) merges.set(id, merge.seq);
  }
  return merges;
}
