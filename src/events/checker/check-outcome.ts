import type { Store } from "../../ports/store.ts";
import { givenUp } from "../cause.ts";
import type { Delegation } from "../delegation.ts";
import type { EventPayloads, StoredEvent } from "../event.ts";
import { openSteps, standingPlans } from "../planned-steps.ts";
import type { PrunedRuns } from "../pruned-runs.ts";
import { isEventType } from "../summarize.ts";
import { type CheckedRun, type Known, type RunCheck, withAncestors } from "./checked-run.ts";

/**
 * I14: a run starts once and finishes once, after all its delegations are closed. It succeeded only if its
 * root completed, every step of the current plans was completed, and every failure reached an ancestor.
 */
export function checkOutcome(run: CheckedRun): RunCheck {
  const failed = new Set<Known>();
  const delivered = new Set<Known>();
  /** Background children that ran when their callers answered. */
  const leftRunning = new Set<string>();
  const plans: EventPayloads["run.planned"][] = [];
  let last: "nothing" | "started" | "finished" = "nothing";

  /** A delivered failure of an ancestor includes the failures below it. */
  function hasArrived(delegation: Known): boolean {
    for (const one of withAncestors(delegation)) {
      if (failed.has(one) && delivered.has(one)) return true;
    }
    return false;
  }

  /** Plans of failed planners do not count: the planner's own failure does. */
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
        yield `The run succeeded, but the step "${key}" of the plan of ${plan.by} was not completed.`;
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
      if (isRoot) yield "The run succeeded, but its root failed.";
      else if (!hasArrived(delegation)) {
        yield `The run succeeded, but the failure of ${delegation.id} never reached its caller.`;
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
          // The failure of a watcher does not affect the outcome.
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
 * I14: a continued plan may count a step as done only if a child of the continued planner had completed
 * it. That child is in another run, so it is read at the end; if that run was pruned, the step is not
 * checked.
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
        ? "it did not complete"
        : (await continues(store, this.#pruned, planner, child.parentId))
          ? undefined
          : "it belongs to another planner";
      if (why === undefined) continue;
      const message = `The plan of ${planner} counts the step "${key}" as completed by ${doneBy}, but ${why}.`;
      this.#run.report("I14", message, { seq });
    }
  }
}

/** Whether a planner continues another delegation, directly or over several resumptions. */
async function continues(
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
    // The check of that run itself reports why it cannot be read.
    return undefined;
  }
}
