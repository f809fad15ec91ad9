import type { NewEvent } from "../../events/event.ts";
import { standingPlans } from "../../events/planned-steps.ts";
import type { RunOutcome } from "../../events/run-outcome.ts";
import type { DelegationResult } from "../../ports/delegator.ts";
import type { Agent } from "../agent.ts";
import type { LiveRun } from "../live-run.ts";
import { isWatcher } from "../watchers/watch.ts";
import { summaryOf } from "./conclude.ts";
import { namesOf, stepsOpenIn } from "./judge-plan.ts";

/**
 * The run ends with its root. It succeeded when the root did, every step of the plans that stand was
 * completed, and no other child's failure was passed over: its result must have reached the agent
 * that delegated to it.
 */
export function runFinished(
  run: LiveRun,
  root: Agent | null,
  result: DelegationResult | null,
): NewEvent<"run.finished"> {
  run.finished = true;
  const overlooked = [...run.agents.values()].filter(
    (agent) =>
      agent !== root &&
      !isWatcher(agent) &&
      agent.result?.status !== "completed" &&
      !hasArrived(agent),
  );
  const problem =
    rootProblem(result) ??
    planProblem(run, root) ??
    overlookedProblem(overlooked) ??
    unstartedProblem(run);
  const outcome = outcomeOf(result, problem);
  const reason = problem ?? "every delegation is closed";
  return { type: "run.finished", payload: { outcome, reason } };
}

function outcomeOf(result: DelegationResult | null, problem: string | undefined): RunOutcome {
  if (problem === undefined) return "succeeded";
  return result?.status === "cancelled" ? "cancelled" : "failed";
}

function rootProblem(result: DelegationResult | null): string | undefined {
  if (result === null || result.status === "completed") return undefined;
  // What it had to say besides is in its result.
  const [reason = ""] = result.result.split("\n", 1);
  return `${result.closeReason}: ${summaryOf(reason)}`;
}

function overlookedProblem(overlooked: readonly Agent[]): string | undefined {
  if (overlooked.length === 0) return undefined;
  return `the failure of ${overlooked.map(({ id }) => id).join(", ")} never reached its caller`;
}

/** A model may pass over a child that the machine kept from starting; its run did not succeed. */
function unstartedProblem({ agents }: LiveRun): string | undefined {
  for (const { evidence } of agents.values()) {
    const { spawnFailure } = evidence;
    if (spawnFailure !== null)
      return `a sub-agent could not be started: ${summaryOf(spawnFailure)}`;
  }
  return undefined;
}

function planProblem(run: LiveRun, root: Agent | null): string | undefined {
  const open = standingPlans(run.plans)
    .filter(({ by }) => !hasFallen(run.agents.get(by), root))
    .flatMap((plan) => stepsOpenIn(run, plan));
  return open.length === 0 ? undefined : `not completed of the plan: ${namesOf(open)}`;
}

/** It, or somebody above it, failed: that counts where it was delegated, and its plan fell with it. */
function hasFallen(planner: Agent | undefined, root: Agent | null): boolean {
  for (let one = planner ?? null; one !== null && one !== root; one = one.parent) {
    if (one.result !== null && one.result.status !== "completed") return true;
  }
  return false;
}

/** With the failure of an agent that was told its caller, what fell with it is told as well. */
function hasArrived(agent: Agent): boolean {
  const { delivered } = agent.run;
  for (let one: Agent | null = agent; one !== null; one = one.parent) {
    if (one.result?.status !== "completed" && delivered.has(one.id)) return true;
  }
  return false;
}
