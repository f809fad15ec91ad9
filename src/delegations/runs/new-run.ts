import type { EventPayloads, NewEvent } from "../../events/event.ts";
import { DistributedExecution } from "../distributed/distributed-execution.ts";
import type { EngineParts } from "../engine-parts.ts";
import { LiveRun } from "../live-run.ts";
import { LocalExecution } from "../local-execution.ts";
import type { RunGrant } from "../start/run-grant.ts";
import type { RunRequest } from "../start/run-request.ts";

/** A run that nobody knows of yet: it is in the log from its root's creation on. */
export function newRun(
  parts: EngineParts,
  request: RunRequest,
  grant: RunGrant,
  isReviewed: boolean,
): LiveRun {
  const { dispatcher, limits, store } = parts;
  return new LiveRun(parts, {
    id: store.newRunId(),
    task: request.task,
    workspace: request.workspace ?? null,
    tokens: request.budgetTokens ?? limits.runTokens,
    ownership: store.ownership,
    grant,
    readOnly: request.readOnly ?? false,
    isReviewed,
    execute: (run) =>
      dispatcher === undefined ? new LocalExecution(run) : new DistributedExecution(run),
  });
}

type RunStarted = EventPayloads["run.started"];

/** Its first event, written in one transaction with the root. */
export function runStarted(
  run: LiveRun,
  about: Pick<RunStarted, "session" | "goal"> = {},
): NewEvent {
  const { application, limits } = run.parts;
  return {
    type: "run.started",
    payload: {
      task: run.task,
      application,
      workspace: run.workspace,
      budget: { tokens: run.budget.tokens },
      ...about,
      ...run.execution.recorded.run(limits.maxChildren),
      ...run.ownership,
    },
  };
}
