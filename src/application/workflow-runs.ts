/** Workflow scripts as runs: how they are started, found again and resumed. */
import { existsSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import type { ProfileRegistry } from "../agents/profiles/profile-registry.ts";
import type { Contract } from "../contracts/contract.ts";
import type { RunPrincipal } from "../contracts/run-grant.ts";
import type { Engine } from "../delegations/engine.ts";
import { resumedInto } from "../delegations/runs/resume-run.ts";
import type { StoredEvent } from "../events/event.ts";
import { isRunInterrupted } from "../events/is-worked-on.ts";
import type { RunState } from "../events/run-state.ts";
import type { Resumed, RunRequest } from "../ports/delegator.ts";
import { MandateError } from "../ports/mandate-error.ts";
import type { Store } from "../ports/store.ts";
import type { ResumeLimits } from "../sessions/resumption.ts";
import {
  type WorkflowCallView,
  type WorkflowView,
  workflowsIn,
} from "../sessions/workflow-view.ts";
import { describeProblem, parseWorkflow } from "../tools/workflow/parse-workflow.ts";
import { workflowRunner } from "../tools/workflow/run-workflow.ts";
import {
  readWorkflowDocument,
  type WorkflowDocument,
} from "../tools/workflow/workflow-document.ts";
import type { UsableWorkflow, WorkflowSource } from "../tools/workflow/workflow-source.ts";

/** The part of a runtime that workflows use. */
export interface WorkflowParts {
  /** What is trusted may have changed in another process. */
  readonly control: { readonly view: { refresh(now: true): Promise<void> | undefined } };
  readonly engine: Engine;
  readonly profiles: Pick<ProfileRegistry, "get">;
  readonly store: Store;
  readonly workflows: WorkflowSource;
}

export type WorkflowLimits = NonNullable<WorkflowDocument["limits"]>;

/** What of a run request a workflow decides itself. */
interface WorkflowRequest extends Pick<RunRequest, "context" | "task" | "title"> {
  readonly profile: string;
}

/**
 * The request of a run that carries out a script. The script is stored: what recovers the run later
 * carries out exactly this. Throws "workflow-invalid" with line and column.
 */
export async function workflowToRun(
  { profiles, store }: Pick<WorkflowParts, "profiles" | "store">,
  document: WorkflowDocument,
): Promise<WorkflowRequest> {
  if (profiles.get(workflowRunner)?.model?.model !== "mandate/workflow") {
    throw new MandateError(
      "profile-invalid",
      `Workflows are run by the shipped profile "${workflowRunner}", but another profile has that name here. Rename that profile.`,
    );
  }
  const { file, isLenient = false, script } = document;
  const parsed = parseWorkflow(script, { isLenient, isInline: file === undefined });
  if ("problem" in parsed) {
    const message = describeProblem(file ?? "script", parsed.problem);
    throw new MandateError("workflow-invalid", message);
  }
  const { description, name } = parsed.meta;
  const { hash } = await store.keepArtifact(JSON.stringify(document));
  const context = `workflow ${hash}`;
  return { task: `${name}: ${description}`, title: name, profile: workflowRunner, context };
}

/** A workflow that a program or a typed command asks for: a listed one by name, or a script. */
export interface WorkflowRequested {
  readonly name?: string | undefined;
  readonly script?: string | undefined;
  readonly args?: unknown;
  readonly limits?: WorkflowDocument["limits"];
}

/** The request of its run. A listed script has to be trusted: no person reads it here. */
export async function requestedWorkflow(
  parts: Pick<WorkflowParts, "control" | "profiles" | "store" | "workflows">,
  { args, limits, name, script }: WorkflowRequested,
  workspace: string | null,
): Promise<WorkflowRequest> {
  if ((name === undefined) === (script === undefined)) {
    throw new MandateError("usage", "A workflow is given by its name, or as a script.");
  }
  if (name !== undefined) await parts.control.view.refresh(true);
  const found = name === undefined ? undefined : parts.workflows.child(name, workspace);
  return workflowToRun(parts, {
    script: found?.script ?? script ?? "",
    ...(found && { file: found.file }),
    ...(args !== undefined && { args }),
    ...(limits && { limits }),
  });
}

/** A run, and a workflow that one of its delegations carries out. */
export interface WorkflowRun {
  readonly run: RunState;
  readonly view: WorkflowView;
  readonly document: WorkflowDocument;
  /** All workflows of the run, this one among them. */
  readonly workflows: readonly WorkflowView[];
}

/** The workflow of a run, or of one of its delegations. Undefined: it carries out none. */
export async function readWorkflowRun(store: Store, id: string): Promise<WorkflowRun | undefined> {
  const runId = await store.findRun(id);
  const run = runId === undefined ? undefined : await store.readRun(runId);
  if (run === undefined) return undefined;
  const events: StoredEvent[] = [];
  for await (const event of store.readEvents({ runId: run.id })) events.push(event);
  const workflows = workflowsIn(run, events);
  const view = workflows.find(({ delegationId }) => delegationId === id || id === run.id);
  const text = view && (await store.readArtifact(view.document));
  const document = text === undefined ? undefined : readWorkflowDocument(text);
  if (view === undefined || document === undefined) return undefined;
  return { run, view, document, workflows };
}

/** Whether the run is there for this workflow. Otherwise an agent of the run started it. */
function isRootOf({ delegationId }: WorkflowView, { delegations }: RunState): boolean {
  return delegations.get(delegationId)?.parentId === null;
}

export interface SkippedAgent {
  readonly delegationId: string;
  readonly outcome: "skipped" | "already_terminal";
}

/**
 * Skips one agent of a workflow: its delegation is cancelled, and the script gets `null`. `key`: that
 * of the call. An agent that has not started has no delegation yet, and cannot be skipped.
 */
export async function skipAgent(
  { engine }: Pick<WorkflowParts, "engine">,
  { view }: Pick<WorkflowRun, "view">,
  { key, reason }: { readonly key: string; readonly reason: string },
): Promise<SkippedAgent> {
  const call = view.calls.find((one) => one.key === key && one.kind === "agent");
  if (call === undefined) {
    throw new MandateError("usage", `The workflow has no agent ${key}. Its calls are in its view.`);
  }
  if (call.delegation === undefined) {
    throw new MandateError(
      "conflict",
      `The agent ${key} has not started, so it cannot be skipped.`,
    );
  }
  const isOver = call.state !== "running";
  const outcome = isOver ? "already_terminal" : await engine.cancel(call.delegation, reason);
  return {
    delegationId: call.delegation,
    outcome: outcome === "cancelled" ? "skipped" : "already_terminal",
  };
}

interface LostRunQuery {
  readonly application: string;
  readonly workspace: string | null;
  readonly document: WorkflowDocument;
}

/** The latest run of this file, with these arguments, that stopped before its end; none: undefined. */
export async function findStoppedRun(
  store: Store,
  { application, document, workspace }: LostRunQuery,
): Promise<WorkflowRun | undefined> {
  for (const row of await store.listRuns({ open: true, application, limit: 100 })) {
    if (row.workspace !== workspace) continue;
    const found = await readWorkflowRun(store, row.id);
    if (found === undefined || found.document.file !== document.file) continue;
    const isSame = JSON.stringify(found.document.args) === JSON.stringify(document.args);
    if (isSame && (await isRunInterrupted(store, found.run))) return found;
  }
  return undefined;
}

export interface ResumeWishes {
  /** Absent: those that were recorded. */
  readonly args?: unknown;
  readonly limits?: WorkflowLimits | undefined;
  /** Amounts of a new run; absent: those of the old one, once more. */
  readonly run?: ResumeLimits | undefined;
  readonly by?: RunPrincipal | undefined;
  /** Whether the script, which has changed, may run; throws a refusal otherwise. */
  mayRun(script: UsableWorkflow): Promise<void> | void;
}

/**
 * Resumes a workflow. Recorded results stand, whatever was edited since; new, changed, failed and
 * interrupted calls run. The run itself continues where nothing but the interruption is to be undone.
 */
export async function resumeWorkflow(
  { control, engine, profiles, store, workflows }: WorkflowParts,
  found: WorkflowRun,
  wishes: ResumeWishes,
): Promise<Resumed> {
  const { document, run, view } = found;
  const isOpen = run.outcome === null;
  if (isOpen && !(await isRunInterrupted(store, run))) throw underWay(run.id);
  await control.view.refresh(true);
  const script = await changedScript(workflows, document, wishes);
  const hasFailed = view.calls.some(({ state }) => isFailed.has(state));
  const { args = document.args, limits } = wishes;
  const contract = await store.readContract(view.delegationId);
  const isAsBefore =
    script === undefined &&
    isDeepStrictEqual(args, document.args) &&
    (limits === undefined || isDeepStrictEqual(limits, document.limits)) &&
    isHeldTo(contract, wishes.run);
  if (isOpen && isAsBefore && !hasFailed) return engine.resume(run.id, wishes.by, wishes.run);
  const request = await workflowToRun(
    { profiles, store },
    {
      ...document,
      ...(script !== undefined && { script }),
      ...(args !== undefined && { args }),
      ...(limits && { limits: { ...document.limits, ...limits } }),
      resumes: view.delegationId,
    },
  );
  // If two callers resume one run, the caller that ends it continues.
  if (isOpen && (await engine.cancel(run.id, "It continues in a new run.")) !== "cancelled") {
    throw underWay(run.id);
  }
  const before = await store.readRecord(successorType, view.delegationId);
  const successor = (before?.value as Successor | undefined)?.run;
  if (successor !== undefined && (await store.readRun(successor))?.outcome === null) {
    throw underWay(successor);
  }
  const { by, run: { maxCost, maxTokens, readOnly, session, timeoutMs } = {} } = wishes;
  const started = await engine.startRun({
    ...request,
    by,
    workspace: run.workspace,
    // What held for the old run holds again: a limit that is not named does not go away.
    maxCost: maxCost ?? contract.budget.cost ?? undefined,
    maxTokens: maxTokens ?? contract.budget.tokens,
    timeoutMs: timeoutMs ?? contract.deadlines.total,
    readOnly: readOnly === true || contract.outputs.report_path_pattern === null,
    session: session ?? run.session?.id,
  });
  try {
    const value: Successor = { run: started.runId };
    const expectedVersion = before?.version ?? 0;
    const change = { resourceType: successorType, resourceId: view.delegationId, expectedVersion };
    await store.changeRecords([{ ...change, value }], by?.id ?? "operator");
  } catch (error) {
    // Another one resumed the run in this moment.
    await engine.cancel(started.runId, "Another run resumes this workflow.");
    throw error;
  }
  return resumedInto(started, view.delegationId);
}

/** The latest run that resumes a workflow, by the delegation that carried it out before. */
const successorType = "workflow-successor";

interface Successor {
  readonly run: string;
}

const isFailed: ReadonlySet<WorkflowCallView["state"]> = new Set(["failed", "null", "skipped"]);

/** Whether these are the limits that a run has by its contract. */
function isHeldTo(
  { budget, deadlines }: Contract,
  { maxCost, maxTokens, timeoutMs }: ResumeLimits = {},
): boolean {
  return (
    (maxCost ?? budget.cost) === budget.cost &&
    (maxTokens ?? budget.tokens) === budget.tokens &&
    (timeoutMs ?? deadlines.total) === deadlines.total
  );
}

export interface ResumeWork {
  readonly by?: RunPrincipal | undefined;
  readonly limits?: ResumeLimits | undefined;
  /** Only for a run that carries out a workflow. */
  readonly workflow?: Pick<ResumeWishes, "args" | "limits"> | undefined;
}

/** Resumes a run or a delegation, whatever it carries out; a script that was edited has to be trusted. */
export async function resumeAny(
  parts: WorkflowParts,
  id: string,
  { by, limits, workflow }: ResumeWork,
): Promise<Resumed> {
  const found = await readWorkflowRun(parts.store, id);
  if (found !== undefined && isRootOf(found.view, found.run)) {
    return resumeWorkflow(parts, found, { ...workflow, run: limits, by, mayRun: requireTrusted });
  }
  if (workflow === undefined) return parts.engine.resume(id, by, limits);
  throw new MandateError("usage", `${id} is no run of a workflow: it has no arguments to change.`);
}

function requireTrusted({ file, isTrusted }: UsableWorkflow): void {
  if (isTrusted) return;
  throw new MandateError(
    "refused-by-policy",
    `${file} was changed, and is not trusted as it is now. Read it, then: mandate workflow check --trust ${file}`,
  );
}

/** The text of the script where it differs from the recorded one; a file that is gone does not. */
async function changedScript(
  workflows: WorkflowSource,
  { file, isLenient = false, script }: WorkflowDocument,
  { mayRun }: ResumeWishes,
): Promise<string | undefined> {
  if (file === undefined || !existsSync(file)) return undefined;
  const now = workflows.at(file, { isLenient });
  if (now.script === script) return undefined;
  await mayRun(now);
  return now.script;
}

function underWay(runId: string): MandateError {
  return new MandateError(
    "conflict",
    `Run ${runId} carries out this workflow already. Follow it: mandate logs ${runId} --follow`,
  );
}
