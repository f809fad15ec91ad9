import { allGrantedBy, type Contract, externalProvider } from "../../contracts/contract.ts";
import type { RunPrincipal } from "../../contracts/run-grant.ts";
import { type Delegation, shownName } from "../../events/delegation.ts";
import { isRunInterrupted } from "../../events/is-worked-on.ts";
import { childrenOf, type RunState } from "../../events/run-state.ts";
import type { RefusedResumption, Resumed, ResumedRun, StartedRun } from "../../ports/delegator.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { Store } from "../../ports/store.ts";
import {
  decideResume,
  type LatestWork,
  latestAfter,
  openBelow,
} from "../../sessions/decide-resume.ts";
import { findDelegation, type ResumeLimits, resumption } from "../../sessions/resumption.ts";
import type { EngineState } from "./live-runs.ts";
import type { Recovery } from "./recovery.ts";
import { startContinuation } from "./start-run.ts";

interface ResumeRequest {
  readonly id: string;
  readonly by: RunPrincipal | undefined;
  readonly limits: ResumeLimits | undefined;
}

interface Target {
  readonly state: RunState;
  readonly delegation: Delegation;
  readonly isRun: boolean;
  readonly isExternal: boolean;
}

/**
 * The one meaning of "resume", for every surface: by what the log says, the run itself continues, or
 * new runs continue what has ended. Anything else is an error that says what to do.
 */
export async function resumeRun(
  own: EngineState,
  recovery: Recovery,
  { by, id, limits = {} }: ResumeRequest,
): Promise<Resumed> {
  const { store } = own.parts;
  // The second look is for a run that its recovery closed, or that has ended since.
  for (let look = 0; ; look++) {
    const found = await findDelegation(store, id);
    // A contract that cannot be read is refused where it is needed.
    const contract = await store.readContract(found.delegation.id).catch(() => undefined);
    const target = { ...found, isExternal: contract?.model.provider === externalProvider };
    const isIdle = look === 0 && (await isRunInterrupted(store, found.state));
    const decision = decideResume({ ...target, target: target.delegation, isIdle });
    switch (decision.kind) {
      case "busy":
        throw new MandateError("not-resumable", await describeBusy(store, target));
      case "start":
        return startAgain(own, target, decision.from, (one) =>
          resumption(store, one, limits).then((next) => startContinuation(own, next, by)),
        );
      case "continue": {
        await requireSameLimits(store, target, limits);
        const resumed = await continueRun(own, recovery, target);
        if (resumed !== undefined) return resumed;
        break;
      }
      default:
        return decision satisfies never;
    }
  }
}

/** Undefined: it has ended, or another process was faster. */
async function continueRun(
  { parts: { application, dispatcher } }: EngineState,
  recovery: Recovery,
  { delegation, isExternal, state }: Target,
): Promise<Resumed | undefined> {
  const { id } = state;
  if (state.application !== application) {
    throw new MandateError(
      "not-resumable",
      `${id} belongs to the application "${state.application}", and this process works for "${application}". Resume it there, or on the command line: mandate resume ${id}`,
    );
  }
  if (state.spread !== null && dispatcher === undefined) {
    throw new MandateError(
      "not-resumable",
      `${id} is distributed, and no worker works on it. Start one: mandate worker`,
    );
  }
  const agents = isExternal ? openBelow(state, delegation.id) : undefined;
  const [run] = await recovery.recover(id, (error) => {
    throw error;
  });
  if (run === undefined) return undefined;
  if (agents?.length !== 0) {
    const { delegationId: from } = run;
    return resumed([extended(run, { as: "same", from, agents: agents ?? [from] })], []);
  }
  // The agent of another program cannot continue itself: its run closes.
  await run.result;
  return undefined;
}

async function startAgain(
  { parts: { store } }: EngineState,
  target: Target,
  from: readonly string[],
  start: (id: string) => Promise<StartedRun>,
): Promise<Resumed> {
  const startNew = async (id: string): Promise<ResumedRun> => newRun(await start(id), id);
  if (!target.isExternal) return resumed(await Promise.all(from.map(startNew)), []);
  const latest = await latestAfter(store, target.state, from);
  const left = latest.flatMap((one) => (one.state === "failed" ? one.id : []));
  if (left.length === 0) throw new MandateError("not-resumable", describeDone(target, latest));
  const runs: ResumedRun[] = [];
  const refused: RefusedResumption[] = [];
  let firstError: MandateError | undefined;
  for (const id of left) {
    try {
      runs.push(await startNew(id));
    } catch (error) {
      if (!(error instanceof MandateError)) throw error;
      firstError ??= error;
      refused.push({ delegationId: id, reason: error.message });
    }
  }
  if (runs.length === 0 && firstError !== undefined) throw firstError;
  return resumed(runs, refused);
}

/** A new run continues the delegation `from`. */
export function resumedInto(run: StartedRun, from: string): Resumed {
  return resumed([newRun(run, from)], []);
}

function newRun(run: StartedRun, from: string): ResumedRun {
  return extended(run, { as: "new", from, agents: [run.delegationId] });
}

function resumed(runs: readonly ResumedRun[], refused: readonly RefusedResumption[]): Resumed {
  const [first] = runs;
  if (first === undefined) throw new Error("nothing was resumed");
  return extended(first, { runs, refused });
}

/** Adds fields to a run. Its getters stay getters: asking for a result keeps a process alive. */
function extended<Run extends StartedRun, const Fields extends object>(
  run: Run,
  fields: Fields,
): Run & Fields {
  const copy = Object.defineProperties({}, Object.getOwnPropertyDescriptors(run)) as Run;
  return Object.assign(copy, fields);
}

/** The contract of a run that has not ended is fixed: a limit that it has already is no change. */
async function requireSameLimits(
  store: Store,
  { delegation, state: { id } }: Target,
  { maxCost, maxTokens, readOnly, timeoutMs }: ResumeLimits,
): Promise<void> {
  const isAnySaid = [maxCost, maxTokens, timeoutMs].some((limit) => limit !== undefined);
  if (!isAnySaid && readOnly !== true) return;
  const contract = await store.readContract(delegation.id);
  const fixed = changedLimit(contract, { maxCost, maxTokens, timeoutMs });
  if (fixed !== undefined) {
    throw new MandateError(
      "usage",
      `${id} has not ended: it continues under its contract, which gives ${delegation.id} ${fixed}. Leave the new limit out, or cancel the run first.`,
    );
  }
  if (readOnly !== true || allGrantedBy(contract).write_roots.length === 0) return;
  throw new MandateError(
    "refused-by-policy",
    `${id} has not ended, and its contract lets it write; here nothing may be written. Resume it elsewhere, or cancel it first.`,
  );
}

/** What the contract gives, where something else is asked for. */
function changedLimit(
  { budget, deadlines }: Contract,
  { maxCost, maxTokens, timeoutMs }: ResumeLimits,
): string | undefined {
  if (maxTokens !== undefined && maxTokens !== budget.tokens) return `${budget.tokens} tokens`;
  if (maxCost !== undefined && maxCost !== budget.cost) {
    return budget.cost === null ? "no limit in dollars" : `$${budget.cost}`;
  }
  if (timeoutMs !== undefined && timeoutMs !== deadlines.total) return `${deadlines.total} ms`;
  return undefined;
}

async function describeBusy(store: Store, target: Target): Promise<string> {
  const { delegation, isExternal, isRun, state } = target;
  const next = `Watch it: mandate logs ${state.id} --follow. To end it: mandate cancel ${state.id}`;
  if (state.spread !== null) return `Workers work on ${state.id}. ${next}`;
  const worker = await nameWorker(store, state.worker);
  if (isExternal) {
    return `${worker} serves ${state.id}, the session of "${shownName(delegation)}", which has not ended. ${next}`;
  }
  const waits = delegation.status === "waiting_for_merge" && !isRun;
  const part = isRun ? "" : `${delegation.id} ${waits ? "waits for its merge" : "is at work"}: `;
  return `${part}${worker} works on ${state.id}. ${next}`;
}

async function nameWorker(store: Store, worker: string): Promise<string> {
  if (worker === store.ownership.worker) return `This process (${process.pid})`;
  const row = (await store.workers?.())?.find(({ id }) => id === worker);
  if (row !== undefined) return `Process ${row.pid} on ${row.host}`;
  const pid = store.pidOf?.(worker);
  return pid === undefined ? "Another process" : `Process ${pid}`;
}

function describeDone({ delegation, state }: Target, latest: readonly LatestWork[]): string {
  const whose = `${state.id} is the session of "${shownName(delegation)}", an agent that another program runs`;
  const open = latest.filter((one) => one.state === "open");
  if (open.length > 0) {
    const runs = [...new Set(open.map(({ runId }) => runId))].join(", ");
    return `${whose}. Its sub-agents that did not complete were resumed, and continue in ${runs}.`;
  }
  const { length } = childrenOf(state, delegation.id);
  if (length === 0) return `${whose}, and it had no sub-agents: there is nothing to resume.`;
  return `${whose}. All of its sub-agents have completed; their results: mandate tree ${state.id}`;
}
