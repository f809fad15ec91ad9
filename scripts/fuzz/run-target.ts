import fc, { type RunDetails } from "fast-check";
import { type CaseFailure, CaseRunner } from "./case-runner.ts";
import { readCorpus } from "./corpus.ts";
import { findPollution } from "./find-pollution.ts";
import type { OpenTarget, Target } from "./target.ts";

export interface FuzzPlan {
  readonly seed: number;
  /** Until then new cases are begun. */
  readonly seconds: number;
  /** The most cases; absent: as many as there is time for. */
  readonly cases?: number;
  /** One failure of an earlier run, by fast-check's own path. */
  readonly path?: string;
  readonly onProgress?: (progress: Progress) => void;
  /** Told of each case before it begins, for whoever watches over one that never ends. */
  readonly onCase?: (seed: number, index: number) => void;
}

export interface Progress {
  readonly cases: number;
  readonly seconds: number;
}

export interface FuzzOutcome extends Progress {
  readonly skipped?: string;
  readonly failure?: Failure;
}

export interface Failure {
  readonly error: string;
  readonly input: unknown;
  readonly seed: number;
  /** Absent when a stored case failed: it is in the corpus already. */
  readonly path?: string;
}

const batchSize = 100;
const shrinkMs = 15_000;

/** First what was found earlier, then as many new cases as the plan has time for. */
export async function runTarget(target: Target, plan: FuzzPlan): Promise<FuzzOutcome> {
  const began = performance.now();
  const opened = await target.open();
  const runner = new CaseRunner(opened, target.caseMs ?? 1000);
  const sofar = (): Progress => ({
    cases: runner.cases,
    seconds: (performance.now() - began) / 1000,
  });
  try {
    if (opened.skipped !== undefined) return { ...sofar(), skipped: opened.skipped };
    const failure =
      (plan.path === undefined ? await tryCorpus(target, runner, plan.seed) : undefined) ??
      (await tryBatches(opened, runner, plan, sofar));
    return { ...sofar(), ...(failure && { failure }) };
  } finally {
    runner.close();
    await opened.close?.();
  }
}

async function tryCorpus(
  target: Target,
  runner: CaseRunner,
  seed: number,
): Promise<Failure | undefined> {
  for (const { input, file } of readCorpus(target.name)) {
    try {
      await runner.run(input);
    } catch (error) {
      return { error: `${file}: ${describe(error)}`, input, seed };
    }
  }
  return undefined;
}

async function tryBatches(
  opened: OpenTarget<unknown>,
  runner: CaseRunner,
  plan: FuzzPlan,
  sofar: () => Progress,
): Promise<Failure | undefined> {
  const { cases = Number.POSITIVE_INFINITY, path } = plan;
  const deadline = performance.now() + plan.seconds * 1000;
  for (let batch = 0, left = cases; left > 0; batch++, left -= batchSize) {
    const seed = (plan.seed + Math.imul(batch, 0x9e3779b1)) | 0;
    const leftMs = deadline - performance.now();
    if (leftMs <= 0 && path === undefined) break;
    let index = 0;
    const property = fc.asyncProperty(opened.inputs, async (input) => {
      plan.onCase?.(seed, index++);
      await runner.run(input);
    });
    const found = await fc.check(property, {
      seed,
      numRuns: Math.min(left, batchSize),
      ...(path === undefined
        ? { interruptAfterTimeLimit: leftMs, endOnFailure: true }
        : { path, endOnFailure: true }),
    });
    // A batch that was interrupted before its first case counts as failed, without an example.
    if (found.failed && found.counterexample !== null) {
      return failureOf(path === undefined ? await shrink(property, found) : found);
    }
    const polluted = findPollution();
    if (polluted !== undefined) return { error: polluted, input: null, seed };
    plan.onProgress?.(sofar());
    if (path !== undefined) break;
  }
  return undefined;
}

/** Goes on from what was found, for as long as that may take. */
async function shrink(
  property: fc.IAsyncPropertyWithHooks<[unknown]>,
  { counterexamplePath, seed, ...found }: RunDetails<[unknown]>,
): Promise<RunDetails<[unknown]>> {
  const smaller = await fc.check(property, {
    seed,
    ...(counterexamplePath !== null && { path: counterexamplePath }),
    interruptAfterTimeLimit: shrinkMs,
  });
  // What fails only now and then is told as it was found.
  return smaller.failed ? smaller : ({ ...found, counterexamplePath, seed } as typeof smaller);
}

function failureOf(details: RunDetails<[unknown]>): Failure {
  return {
    error: describe(details.errorInstance as CaseFailure),
    input: details.counterexample?.[0],
    seed: details.seed,
    path: details.counterexamplePath ?? "",
  };
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
