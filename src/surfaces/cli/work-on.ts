import type { StoredEvent } from "../../events/event.ts";
import { isPaused } from "../../events/run-state.ts";
import type { DelegationResult } from "../../ports/delegator.ts";
import type { Runtime } from "../../runtime.ts";
import type { Display } from "./display.ts";
import { Interruption } from "./interruption.ts";
import type { Io } from "./io.ts";
import { Questions } from "./questions.ts";
import type { RunView } from "./run-view.ts";
import { RunWatch } from "./watch-runs.ts";

/** A run that this process works on. */
export type StartedRun = Awaited<ReturnType<Runtime["engine"]["startRun"]>>;

export type WorkOutcome =
  | { readonly ended: "result"; readonly run: StartedRun; readonly result: DelegationResult }
  | {
      readonly ended: "interrupted";
      readonly run: StartedRun;
      readonly code: number;
      readonly isPaused: boolean;
    }
  | { readonly ended: "lost"; readonly run: StartedRun };

export interface Work {
  readonly runtime: Runtime;
  readonly io: Io;
  readonly display: Display;
  /** Takes up what was interrupted, or starts something new; says which run this is about. */
  begin(watch: (run: StartedRun) => Promise<RunView>): Promise<StartedRun>;
  /** Ids of runs that Ctrl-C interrupts, one after the other; absent: the run that it is about. */
  readonly cancels?: () => readonly string[];
}

/**
 * Works on runs while somebody watches: shows what happens, brings questions to the person, and
 * obeys Ctrl-C.
 */
export async function workOn(work: Work): Promise<WorkOutcome> {
  const { runtime, io, display } = work;
  const { engine, store } = runtime;
  const takenAway = new Map<string, () => void>();
  const questions = new Questions(io, display, (id, text) => engine.answer(id, text));
  const watch = new RunWatch(store, display, (event, view) => {
    display.note(event, view);
    questions.follow(event, view);
    if (isTakenAway(event, store.ownership.worker)) takenAway.get(event.run_id)?.();
  });
  const ends = new Map<string, Promise<DelegationResult | "lost">>();
  const add = (run: StartedRun): Promise<RunView> => {
    const lost = new Promise<"lost">((resolve) => {
      takenAway.set(run.runId, () => resolve("lost"));
    });
    ends.set(run.runId, Promise.race([run.result, lost]));
    return watch.add(run.runId);
  };
  let interruption: Interruption | undefined;
  try {
    const run = await work.begin(add);
    interruption = new Interruption(io, async () => {
      display.say("Interrupted: stopping. Press Ctrl-C again to leave at once.");
      const outcomes: string[] = [];
      for (const id of work.cancels?.() ?? [run.runId]) {
        const { outcome, settled } = await engine.interrupt(id, "interrupted at the terminal");
        outcomes.push(outcome);
        if (outcome !== "continuing") continue;
        display.say(
          `${id} takes no further step; those who continue by their contract come to their end. Ctrl-C leaves that to the next start.`,
        );
        await settled;
      }
      return outcomes.some((outcome) => outcome !== "already_terminal");
    });
    const end = await Promise.race([interruption.code, endOf(run, ends, display)]);
    // A run that was cancelled has a result as well, and may have it first.
    const code = typeof end === "number" ? end : await interruption.pending;
    if (code !== undefined) {
      const state = await store.readRun(run.runId);
      const rests = state !== undefined && isPaused(state);
      return { ended: "interrupted", run, code, isPaused: rests };
    }
    return end === "lost" || typeof end === "number"
      ? { ended: "lost", run }
      : { ended: "result", run, result: end };
  } finally {
    interruption?.release();
    questions.stop();
    watch.stop();
    display.end();
  }
}

/** Runs that were taken up along the way are worked on to their end as well. */
async function endOf(
  run: StartedRun,
  ends: ReadonlyMap<string, Promise<DelegationResult | "lost">>,
  display: Display,
): Promise<DelegationResult | "lost"> {
  const end = (await ends.get(run.runId)) ?? "lost";
  const others = [...ends].filter(([id]) => id !== run.runId);
  if (others.length === 0) return end;
  const all = Promise.all(others.map(([, other]) => other));
  const isOver = await Promise.race([all.then(() => true), Promise.resolve(false)]);
  if (!isOver) {
    const ids = others.map(([id]) => id).join(", ");
    display.say(
      `${run.runId} has ended. Still working on ${ids}; Ctrl-C leaves that for another time.`,
    );
    await all;
  }
  return end;
}

function isTakenAway(event: StoredEvent, worker: string): boolean {
  return event.type === "run.resumed" && event.payload.worker !== worker;
}
