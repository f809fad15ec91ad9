import type { RunOutcome } from "../../events/run-outcome.ts";
import type { DelegationResult } from "../../ports/delegator.ts";
import { resultOf } from "../../sessions/delegation-result.ts";
import type { Arguments } from "./arguments.ts";
import { type Aftermath, lookBack, reportOutcome } from "./attend.ts";
import { printResult } from "./commands/result.ts";
import { exitCode, exitCodeOfResult } from "./exit-code.ts";
import { tellKept } from "./kept-changes.ts";
import { printableJson, printableLine } from "./printable.ts";
import type { Work, WorkOutcome } from "./work-on.ts";

/** What was resumed, as `engine.resume` gives it. */
type Resumed = Awaited<ReturnType<Work["runtime"]["engine"]["resume"]>>;

interface AgentResult {
  readonly runId: string;
  readonly title: string;
  /** Null: it has not ended. */
  readonly result: DelegationResult | null;
  /** How the run ended, where the agent is its root. */
  readonly end: RunOutcome | null;
}

/** What came of a resumption, in words and as an exit code. */
export async function reportResumed(
  resumed: Resumed,
  outcome: WorkOutcome,
  { given, isPrinted, work }: { given: Arguments; work: Work; isPrinted: boolean },
): Promise<number> {
  const { runs } = resumed;
  const aftermath = await Promise.all(runs.map((run) => lookBack(run, work)));
  const kept = aftermath.flatMap((of) => of.kept);
  const isOfRoots = runs.every(({ agents, delegationId }) => agents.includes(delegationId));
  const [first] = aftermath;
  if (outcome.ended !== "result" || (runs.length === 1 && isOfRoots)) {
    const { cause = null, end = null } = first ?? {};
    return reportOutcome(outcome, given, work.io, { end, kept, cause }, isPrinted);
  }
  return reportAgents(await resultsOf(resumed, aftermath, work), kept, given, work);
}

async function resultsOf(
  { runs }: Resumed,
  aftermath: readonly Aftermath[],
  { runtime: { store } }: Work,
): Promise<readonly AgentResult[]> {
  const found: AgentResult[] = [];
  for (const [index, { agents, delegationId, runId }] of runs.entries()) {
    const state = await store.readRun(runId);
    for (const id of agents) {
      const title = `${state?.delegations.get(id)?.profile} ${id}`;
      const result = state ? resultOf(state, id) : null;
      const end = id === delegationId ? (aftermath[index]?.end ?? null) : null;
      found.push({ runId, title, result, end });
    }
  }
  return found;
}

/** Each has a result of its own; the exit code is that of the first that did not complete. */
function reportAgents(
  results: readonly AgentResult[],
  kept: readonly string[],
  given: Arguments,
  { io }: Work,
): number {
  if (given.flag("json")) {
    const told = results.map(({ end, result, runId }) => ({
      runId,
      ...(end !== null && { outcome: end }),
      ...result,
    }));
    io.stdout.write(`${printableJson({ results: told, keptChanges: kept }, 2)}\n`);
  } else {
    for (const [index, { result, runId, title }] of results.entries()) {
      io.stderr.write(
        `Sub-agent ${index + 1} of ${results.length}, ${printableLine(title)} in ${runId}:\n`,
      );
      if (result !== null) printResult(result, io);
    }
    tellKept(kept, io);
  }
  const codes = results.map(({ end, result }) =>
    result === null ? exitCode.failed : exitCodeOfResult(result, end),
  );
  return codes.find((code) => code !== exitCode.done) ?? exitCode.done;
}
