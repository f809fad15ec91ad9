/** Workflow scripts as runs: how they are started, found again and resumed. */
import { existsSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import type { ProfileRegistry } from "../agents/profiles/profile-registry.ts";
import type { Contract } from "../contracts/contract.ts";
import type { RunPrincipal } from "../contracts/run-grant.ts";
import type { Engine } from "../delegations/engine.ts";
import type { StoredEvent } from "../events/event.ts";
import { isRunInterrupted } from "../events/is-worked-on.ts";
import type { RunState } from "../events/run-state.ts";
import type { RunRequest, StartedRun } from "../ports/delegator.ts";
import { MandateError } from "../ports/mandate-error.ts";
import type { Store } from "../ports/store.ts";
import { type WorkflowView, workflowsIn } from "../sessions/workflow-view.ts";
import { describeProblem, parseWorkflow } from "../tools/workflow/parse-workflow.ts";
import { workflowRunner } from "../tools/workflow/run-workflow.ts";
import {
  readWorkflowDocument,
  type WorkflowDocument,
} from "../tools/workflow/workflow-document.ts";
import type { UsableWorkflow, WorkflowSource } from "../tools/workflow/workflow-source.ts";

/** The part of a runtime that workflows use. */
export interface WorkflowParts {
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
  parts: Pick<WorkflowParts, "profiles" | "store" | "workflows">,
  { args, limits, name, script }: WorkflowRequested,
  workspace: string | null,
): Promise<WorkflowRequest> {
  if ((name === undefined) === (script === undefined)) {
    throw new MandateError("usage", "A workflow is given by its name, or as a script.");
  }
  const found = name === undefined ? undefined : parts.workflows.child(name, workspace);
  return workflowToRun(parts, {
    script: found?.script ?? script ?? "",
    ...(found && { file: found.file }),
    ...(args !== undefined && { args }),
    ...(limits && { limits }),
  });
}

/** A run whose root carries out a workflow. */
export interface WorkflowRun {
  readonly run: RunState;
  readonly view: WorkflowView;
  readonly document: WorkflowDocument;
}

/** The workflow of a run, or of one of its delegations. Undefined: it carries out none. */
export async function readWorkflowRun(store: Store, id: string): Promise<WorkflowRun | undefined> {
  const runId = await store.findRun(id);
  const run = runId === undefined ? undefined : await store.readRun(runId);
  if (run === undefined) return undefined;
  const events: StoredEvent[] = [];
  for await (const event of store.readEvents({ runId: run.id })) events.push(event);
  const views = workflowsIn(run, events);
  const view = views.find(({ delegationId }) => delegationId === id) ?? views[0];
  const text = view && (await store.readArtifact(view.document));
  const document = text === undefined ? undefined : readWorkflowDocument(text);
  return view === undefined || document === undefined ? undefined : { run, view, document };
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

type RunLimits = Pick<RunRequest, "maxCost" | "maxTokens" | "timeoutMs">;

export interface ResumeWishes {
  /** Absent: those that were recorded. */
  readonly args?: unknown;
  readonly limits?: WorkflowLimits | undefined;
  /** Limits of a new run; one that continues has its own. */
  readonly run?: RunLimits | undefined;
  readonly by?: RunPrincipal;
  /** Whether the script, which has changed, may run; throws a refusal otherwise. */
  mayRun(script: UsableWorkflow): Promise<void>;
}

export interface ResumedWorkflow {
  readonly started: StartedRun;
  /** `same`: the run itself continues. `new`: a new run takes the recorded results of the old one. */
  readonly as: "same" | "new";
}

/**
 * Resumes a workflow. Recorded results stand, whatever was edited since; new, changed, failed and
 * interrupted calls run. The run itself continues where nothing but the interruption is to be undone.
 */
export async function resumeWorkflow(
  { engine, profiles, store, workflows }: WorkflowParts,
  found: WorkflowRun,
  wishes: ResumeWishes,
): Promise<ResumedWorkflow> {
  const { document, run, view } = found;
  const isOpen = run.outcome === null;
  if (isOpen && !(await isRunInterrupted(store, run))) throw underWay(run.id);
  const script = await changedScript(workflows, document, wishes);
  const hasFailed = view.calls.some(({ state }) => state === "failed" || state === "null");
  const { args = document.args, limits } = wishes;
  const isAsBefore =
    script === undefined &&
    isDeepStrictEqual(args, document.args) &&
    (limits === undefined || isDeepStrictEqual(limits, document.limits)) &&
    isHeldTo(await store.readContract(view.delegationId), wishes.run);
  if (isOpen && isAsBefore && !hasFailed) {
    return { started: await engine.resume(run.id, wishes.by), as: "same" };
  }
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
  const successor = await openSuccessor(store, view.delegationId);
  if (successor !== undefined) throw underWay(successor);
  const started = await engine.startRun({
    ...request,
    workspace: run.workspace,
    ...wishes.run,
    by: wishes.by,
  });
  return { started, as: "new" };
}

/** Whether these are the limits that a run has by its contract. */
function isHeldTo(
  { budget, deadlines }: Contract,
  { maxCost, maxTokens, timeoutMs }: RunLimits = {},
): boolean {
  return (
    (maxCost ?? budget.cost) === budget.cost &&
    (maxTokens ?? budget.tokens) === budget.tokens &&
    (timeoutMs ?? deadlines.total) === deadlines.total
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

async function openSuccessor(store: Store, delegationId: string): Promise<string | undefined> {
  for (const { id } of await store.listRuns({ open: true, limit: 100 })) {
    const found = await readWorkflowRun(store, id);
    if (found?.view.resumes === delegationId) return id;
  }
  return undefined;
}

function underWay(runId: string): MandateError {
  return new MandateError(
    "conflict",
    `Run ${runId} carries out this workflow already. Follow it: mandate logs ${runId} --follow`,
  );
}
