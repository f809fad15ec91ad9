import {
  type Cause,
  closeReasonOf,
  describeRunCause,
  givenUp,
  type RunCause,
} from "../../events/cause.ts";
import type { NewEvent } from "../../events/event.ts";
import { standingPlans } from "../../events/planned-steps.ts";
import type { RunOutcome } from "../../events/run-outcome.ts";
import { isWatcher, type LiveDelegation } from "../live-delegation.ts";
import type { LiveRun } from "../live-run.ts";
import { summaryOf } from "./conclude.ts";
import { stepsOpenIn } from "./judge-plan.ts";

/**
 * The run ends with its root. It succeeded when the root did, every step of the plans that stand was
 * completed, and no other child's failure was passed over: its result must have reached the agent
 * that delegated to it.
 */
export function runFinished(
  run: LiveRun,
  root: LiveDelegation | null,
  /** Why its root failed, if it did. */
  failed: Cause | undefined,
): NewEvent<"run.finished"> {
  run.finished = true;
  const overlooked = [...run.agents.values()].filter(
    (agent) =>
      agent !== root &&
      !isWatcher(agent) &&
      agent.process.end.result?.status !== "completed" &&
      !wasGivenUp(agent) &&
      !hasArrived(agent),
  );
  const problem =
    failed ?? planProblem(run, root) ?? overlookedProblem(overlooked) ?? unstartedProblem(run);
  const cause: RunCause = problem ?? { code: "all_closed" };
  // What it had to say besides is in its result.
  const [reason = ""] = describeRunCause(cause).split("\n", 1);
  const payload = { outcome: outcomeOf(failed, problem), cause, reason: summaryOf(reason) };
  return { type: "run.finished", payload };
}

function outcomeOf(failed: Cause | undefined, problem: RunCause | undefined): RunOutcome {
  if (problem === undefined) return "succeeded";
  return failed && closeReasonOf(failed) === "cancelled" ? "cancelled" : "failed";
}

/** It was ended on purpose after its caller had answered. */
function wasGivenUp({ id, parent, state }: LiveDelegation): boolean {
  const cause = state.status === "closed" ? state.failure?.cause : undefined;
  const above = parent?.state.status === "waiting_for_merge" ? parent.state.output.running : [];
  return cause !== undefined && givenUp.has(cause.code) && above?.includes(id) === true;
}

function overlookedProblem(overlooked: readonly LiveDelegation[]): RunCause | undefined {
  if (overlooked.length === 0) return undefined;
  return { code: "failures_undelivered", delegations: overlooked.map(({ id }) => id) };
}

/** A model may pass over a child that the machine kept from starting; its run did not succeed. */
function unstartedProblem({ agents }: LiveRun): RunCause | undefined {
  for (const { said } of agents.values()) {
    const { spawnFailure } = said.evidence;
    if (spawnFailure !== null) {
      return { code: "child_not_started", text: summaryOf(spawnFailure) };
    }
  }
  return undefined;
}

function planProblem(run: LiveRun, root: LiveDelegation | null): RunCause | undefined {
  const open = standingPlans(run.plans)
    .filter(({ by }) => !hasFallen(run.agents.get(by), root))
    .flatMap((plan) => stepsOpenIn(run, plan));
  return open.length === 0 ? undefined : { code: "steps_open", steps: open };
}

/** It, or somebody above it, failed: that counts where it was delegated, and its plan fell with it. */
function hasFallen(planner: LiveDelegation | undefined, root: LiveDelegation | null): boolean {
  for (let one = planner ?? null; one !== null && one !== root; one = one.parent) {
    const { result } = one.process.end;
    if (result !== null && result.status !== "completed") return true;
  }
  return false;
}

/** With the failure of an agent that was told its caller, what fell with it is told as well. */
function hasArrived(agent: LiveDelegation): boolean {
  const { delivered } = agent.run;
  for (let one: LiveDelegation | null = agent; one !== null; one = one.parent) {
    const { result } = one.process.end;
    if (result?.status !== "completed" && delivered.has(one.id)) return true;
  }
  return false;
}
