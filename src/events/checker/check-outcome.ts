import type { Store } from "../../ports/store.ts";
import { givenUp } from "../cause.ts";
import type { Delegation } from "../delegation.ts";
import type { EventPayloads, StoredEvent } from "../event.ts";
import { openSteps, standingPlans } from "../planned-steps.ts";
import type { PrunedRuns } from "../pruned-runs.ts";
import { isEventType } from "../summarize.ts";
import { type CheckedRun, type Known, type RunCheck, withAncestors } from "./checked-run.ts";

/**
 * I14: a run starts once and ends once, after everything in it is closed. It succeeded only if its
 * root did, every step of the plans that stand was completed, and every failure below reached an
 * agent above it.
 */
export function checkOutcome(run: CheckedRun): RunCheck {
  const failed = new Set<Known>();
  const delivered = new Set<Known>();
  /** Background children that ran when their callers answered. */
  const leftRunning = new Set<string>();
  const plans: EventPayloads["run.planned"][] = [];
  let last: "nothing" | "started" | "finished" = "nothing";

  /** With the failure of an agent that was told its caller, those below it are told as well. */
  function hasArrived(delegation: Known): boolean {
    for (const one of withAncestors(delegation)) {
      if (failed.has(one) && delivered.has(one)) return true;
    }
    return false;
  }

  /** A plan fails with the delegation that made it: that failure counts where the work was delegated. */
  function* openPlans(): Generator<string> {
    if (plans.length === 0) return;
    const children = new Map<string, Known>();
    for (const child of run.delegations.values()) {
      const { call_id, parent_id } = child.created;
      if (call_id !== null) children.set(`${parent_id} ${call_id}`, child);
    }
    for (const plan of standingPlans(plans)) {
      const planner = run.delegations.get(plan.by);
      if (planner && withAncestors(planner).some((one) => failed.has(one))) continue;
      const open = openSteps(plan, (callId) => {
        const child = children.get(`${plan.by} ${callId}`);
        return child !== undefined && child.phase === "closed" && !failed.has(child);
      });
      for (const key of open) {
        yield `The run succeeded, and the step "${key}" of the plan of ${plan.by} was not completed.`;
      }
    }
  }

  function* problemsOf({ payload }: StoredEvent<"run.finished">): Generator<string> {
    for (const { id, isBroken, phase } of run.delegations.values()) {
      if (phase !== "closed" && !isBroken) yield `The run ends while ${id} is ${phase}.`;
    }
    if (payload.outcome !== "succeeded") return;
    yield* openPlans();
    for (const delegation of failed) {
      const isRoot = delegation.created.parent_id === null && delegation.created.depth === 0;
      if (isRoot) yield "The run succeeded, and its root failed.";
      else if (!hasArrived(delegation)) {
        yield `The run succeeded, and the failure of ${delegation.id} never reached its caller.`;
      }
    }
  }

  return {
    see(event, delegation) {
      const tell = (message: string): void => run.report("I14", message, { seq: event.seq });
      if (last === "finished") tell(`${event.type} comes after the end of the run.`);
      if (last === "nothing" && event.type !== "run.started") {
        tell(`${event.type} comes before the start of the run.`);
        last = "started";
      }
      if (!isEventType(event.type)) tell(`There is no event ${event.type}.`);
      switch (event.type) {
        case "run.started":
          if (last === "started") tell("The run starts a second time.");
          last = "started";
          break;
        case "run.planned":
          plans.push(event.payload);
          break;
        case "agent.subagent_waiting_for_merge":
          for (const id of event.payload.running ?? []) leftRunning.add(id);
          break;
        case "agent.subagent_failed":
          // Who only watches decides nothing.
          if (delegation && delegation.contract?.profile.capability !== "watcher") {
            failed.add(delegation);
            const isGivenUp = givenUp.has(event.payload.cause?.code);
            if (isGivenUp && leftRunning.has(delegation.id)) delivered.add(delegation);
          }
          break;
        case "agent.tool_completed":
          for (const id of event.payload.delivered ?? []) {
            const child = run.delegations.get(id);
            if (child && delegation && isBelow(child, delegation)) delivered.add(child);
          }
          break;
        case "run.finished":
          for (const problem of problemsOf(event)) tell(problem);
          last = "finished";
          break;
        default:
      }
    },
  };
}

function isBelow(child: Known, above: Known): boolean {
  for (const one of withAncestors(child)) if (one === above) return one !== child;
  return false;
}

interface Claim {
  readonly seq: number;
  readonly planner: string;
  readonly key: string;
  readonly doneBy: string;
}

/**
 * I14: a continued plan may count a step as done only if a child of whom its planner goes on from
 * had completed it. That one is in another run, so it is looked up at the end; where that was pruned,
 * that can no longer be decided.
 */
export class EarlierStepsCheck implements RunCheck {
  readonly #run: CheckedRun;
  readonly #pruned: PrunedRuns;
  readonly #claims: Claim[] = [];

  constructor(run: CheckedRun, pruned: PrunedRuns) {
    this.#run = run;
    this.#pruned = pruned;
  }

  readonly see: RunCheck["see"] = ({ payload, seq, type }) => {
    if (type !== "run.planned") return;
    for (const { done_by: doneBy, key } of payload.steps) {
      if (doneBy !== undefined) this.#claims.push({ seq, planner: payload.by, key, doneBy });
    }
  };

  async lookUp(store: Store): Promise<void> {
    for (const { doneBy, key, planner, seq } of this.#claims) {
      if (this.#pruned.receiptOf(doneBy) !== undefined) continue;
      const child = await readDelegation(store, doneBy);
      const isDone = child?.status === "closed" && child.finalStatus === "completed";
      const why = !isDone
        ? "it had not"
        : (await worksFor(store, this.#pruned, planner, child.parentId))
          ? undefined
          : "it had nothing to do with it";
      if (why === undefined) continue;
      const message = `The plan of ${planner} says that ${doneBy} had completed the step "${key}", and ${why}.`;
      this.#run.report("I14", message, { seq });
    }
  }
}

/** Whether a delegation continues another one, over however many interruptions. */
async function worksFor(
  store: Store,
  pruned: PrunedRuns,
  planner: string,
  before: string | null,
): Promise<boolean> {
  const seen = new Set<string>();
  let id: string | null = planner;
  while (id !== null && !seen.has(id)) {
    seen.add(id);
    id = (await readDelegation(store, id))?.resumedFrom ?? null;
    if (id !== null && (id === before || pruned.receiptOf(id) !== undefined)) return true;
  }
  return false;
}

async function readDelegation(store: Store, id: string): Promise<Delegation | undefined> {
  try {
    const runId = await store.findRun(id);
    const run = runId === undefined ? undefined : await store.readRun(runId);
    return run?.delegations.get(id);
  } catch {
    // A run that cannot be read proves nothing; its own check reports what is wrong with it.
    return undefined;
  }
}
