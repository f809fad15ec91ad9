import type { LiveRun, RunGrant } from "../../delegations/live-run.ts";
import { LiveRun as Run } from "../../delegations/live-run.ts";
import { recoverRun } from "../../delegations/recover.ts";
import type { EngineParts } from "../../delegations/engine-parts.ts";
import type { Store } from "../../ports/store.ts";
import { Course } from "./course.ts";
import { heldResults } from "./held-results.ts";
import { recordedStops } from "./recorded-stops.ts";
import { recordedToolTokens } from "./recorded-tool-tokens.ts";
import type { Recording } from "./recording.ts";
import { makeAgent, RecordedOrder } from "./replay-agents.ts";
import { letInInputs } from "./replay-inputs.ts";
import { replayParts } from "./replay-parts.ts";
import { ReplayScheduler } from "./replay-scheduler.ts";
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
  readonly #toolTokens: ReadonlyMap<string, number>;
  readonly #scheduler: ReplayScheduler;
  #workers = 0;

  constructor(recording: Recording, source: Store, memory: Store) {
    const stops = recordedStops(recording.events);
    this.recording = recording;
    this.course = new Course(recording.events, heldResults(recording.events, stops));
    this.store = new ReplayStore({ memory, source, recording, course: this.course });
    this.#toolTokens = recordedToolTokens(recording);
    const scheduler = new ReplayScheduler();
    this.#scheduler = scheduler;
    this.#parts = replayParts({
      store: this.store.store,
      recording,
      course: this.course,
      find: (id) => this.run.agents.get(id),
      makeChild: (id) => this.makeAgain(id),
      scheduler,
      toolTokens: this.#toolTokens,
    });
    const { budget, task, workspace } = recording.started;
    this.run = new Run(this.#parts, {
      id: recording.runId,
      task,
      workspace,
      tokens: budget.tokens,
      ownership: memory.ownership,
      grant: nobody,
      readOnly: false,
    });
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
    if (recorded === undefined || run.agents.has(id)) return;
    const isFirst = run.agents.size === 0;
    const agent = makeAgent({
      run,
      recorded,
      toolTokens: this.#toolTokens.get(id),
      before: isFirst
        ? [{ type: "run.started", payload: { ...recording.started, ...run.ownership } }]
        : [],
    });
    if (isFirst) run.root = agent;
  }

  /** Its process dies here, and another one takes the run up. */
  takeUpAgain(): void {
    this.store.killWorker();
    this.abandon();
    const worker = ++this.#workers;
    // What was written until now is there, and what was let go of comes to rest.
    setImmediate(() => {
      if (worker === this.#workers) void this.#takeUp(worker).catch(() => undefined);
    });
  }

  /** Nothing more is written, and nobody is told. */
  abandon(): void {
    const { run } = this;
    run.lost = true;
    for (const agent of run.agents.values()) {
      if (agent.isEnding) continue;
      agent.isEnding = true;
      agent.stop("worker_lost", "The replay has left this run.");
      clearTimeout(agent.timer);
    }
  }

  async #takeUp(worker: number): Promise<void> {
    // Nobody works before everybody can be found.
    this.#scheduler.hold();
    const run = await recoverRun(this.#parts, this.recording.runId, nobody);
    // It may have died as well, while it took the run up.
    if (worker !== this.#workers) return;
    if (run !== undefined) {
      this.run = run;
      for (const agent of run.agents.values()) agent.merges = new RecordedOrder();
    }
    this.#scheduler.release();
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
