import { z } from "zod";
import { planToRun } from "../../../application/plan-files.ts";
import { requestedWorkflow } from "../../../application/workflow-runs.ts";
import type { Principal } from "../../../control/records/principal.ts";
import type { DelegationResult } from "../../../ports/delegator.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import type { Runtime } from "../../../runtime.ts";
import type { Host } from "../route.ts";
import { delegationResult } from "./describe-delegation.ts";
import { withoutChildren } from "./describe-run.ts";
import { folderOf, sessionOf } from "./place-of-request.ts";
import { agentId, longestWaitMs, profileName, sessionName, whoever } from "./shared-schemas.ts";

export const waitMs = z
  .int()
  .min(0)
  .max(longestWaitMs)
  .optional()
  .meta({ description: "Milliseconds to wait for the result." });

export const workflowBody = z.strictObject({
  name: z.string().min(1).max(200).optional().meta({ description: "A trusted script." }),
  script: z.string().min(1).max(524_288).optional(),
  args: z.unknown().optional(),
  limits: z
    .strictObject({
      outputTokens: z.int().min(1).optional(),
      maxConcurrent: z.int().min(1).optional(),
      maxAgents: z.int().min(1).max(1000).optional(),
    })
    .optional(),
});

export const startRunBody = z.strictObject({
  task: z.string().min(1).max(1_000_000).optional(),
  plan: z
    .record(z.string(), z.unknown())
    .optional()
    .meta({ description: "Steps to execute, in place of a task." }),
  workflow: workflowBody.optional().meta({ description: "A workflow script, in place of a task." }),
  profile: whoever.optional().meta({ description: "A profile, or a handle." }),
  agent: agentId.optional().meta({ description: "A handle, in place of a profile." }),
  context: z.string().max(1_000_000).optional(),
  title: z.string().min(1).max(500).optional(),
  workspace: z
    .string()
    .max(4096)
    .nullable()
    .optional()
    .meta({ description: "One of the server's folders, or a folder below; null: none." }),
  readOnly: z.boolean().optional(),
  budgetTokens: z.int().min(1).optional().meta({ description: "For the whole run." }),
  maxTokens: z.int().min(1).optional().meta({ description: "For the root and all below it." }),
  maxCost: z.number().positive().optional().meta({ description: "The same in US dollars." }),
  timeout: z.int().min(1).optional().meta({ description: "Milliseconds." }),
  maxDepth: z.int().min(0).max(100).optional(),
  modelOverride: z.string().min(1).max(200).optional(),
  tools: z.array(z.string().min(1).max(200)).max(500).optional(),
  forwardSkills: z.array(z.string().min(1).max(200)).max(500).optional(),
  watchers: z.array(profileName).max(5).optional(),
  session: sessionName.optional(),
  wait: waitMs,
});

export const startedRun = z.object({
  runId: z.string(),
  delegationId: z.string(),
  url: z.string().meta({ description: "The address of the run." }),
  result: delegationResult.nullable().meta({ description: "Null while it is open." }),
});

type StartRunBody = z.infer<typeof startRunBody>;

/** Starts the run of a request, for its caller. */
export async function startRun(
  host: Host,
  body: StartRunBody,
  { by, isTyped }: { readonly by: Principal; readonly isTyped: boolean },
): Promise<StartedHere> {
  const { runtime } = host;
  const { budgetTokens, maxCost, maxDepth, maxTokens, readOnly, timeout, watchers } = body;
  requireAtMost("budgetTokens", budgetTokens, runtime.config.limits.runTokens);
  const workspace = await folderOf(host, body.workspace);
  return runtime.engine.startRun({
    ...(await whatToDo(host, body, workspace ?? null)),
    ...{ budgetTokens, by, maxCost, maxDepth, maxTokens, readOnly, watchers, workspace },
    isRealWorkspace: true,
    isTyped: isTyped && body.plan === undefined && body.workflow === undefined,
    timeoutMs: timeout,
    session: sessionOf(by, body.session),
  });
}

async function whatToDo(host: Host, body: StartRunBody, workspace: string | null) {
  const { agent, context, forwardSkills, modelOverride, plan, profile, task, title, tools } = body;
  const { workflow } = body;
  if (plan === undefined && workflow === undefined) {
    if (task === undefined) throw usage("A run needs a task, a plan or a workflow.");
    if (profile !== undefined && agent !== undefined) {
      throw usage("Name a profile or an agent, not both.");
    }
    return { task, profile: agent ?? profile, context, title, tools, forwardSkills, modelOverride };
  }
  const said = { task, profile, agent, context, title, tools, forwardSkills, modelOverride };
  const [one] = Object.entries(said).filter(([, value]) => value !== undefined);
  if (one !== undefined) {
    const what = plan === undefined ? "workflow" : "plan";
    throw usage(`"${one[0]}" cannot be combined with a ${what}, which names the profiles itself.`);
  }
  if (workflow !== undefined) {
    if (plan !== undefined) throw usage("Give a plan or a workflow, not both.");
    return requestedWorkflow(host.runtime, workflow, workspace);
  }
  if (plan === undefined) throw usage("A run needs a task, a plan or a workflow.");
  const { config, control, profiles, store } = host.runtime;
  await control.view.refresh(true);
  const behind = (handle: string) => control.view.entry(handle)?.profileId;
  const { maxChildren } = config.limits;
  const planned = planToRun(plan, { profiles, behind, maxChildren }, profiles);
  host.runtime.engine.requireModel(planned.agents);
  // A plan can be larger than a prompt, so it is stored, and the run gets its hash.
  const { hash } = await store.keepArtifact(planned.text);
  return { task: planned.task, profile: planned.profile, context: `plan ${hash}` };
}

/** A request cannot exceed a limit of the installation. */
function requireAtMost(name: string, asked: number | undefined, most: number): void {
  if (asked === undefined || asked <= most) return;
  throw new MandateError(
    "refused-by-policy",
    `${name} is ${asked}, and this installation gives a run at most ${most}. Ask for less, or raise limits.runTokens in its configuration.`,
  );
}

function usage(sentence: string): MandateError {
  return new MandateError("usage", sentence);
}

export interface StartedHere {
  readonly runId: string;
  readonly delegationId: string;
  readonly result: Promise<DelegationResult>;
}

/** Describes a started run, with its result if the run finishes within `waitMs`. */
export async function describeStarted(
  { origin, runtime }: Host,
  { delegationId, runId }: StartedHere,
  waitMs: number,
  signal: AbortSignal,
): Promise<z.infer<typeof startedRun>> {
  await untilFinished(runtime, runId, { waitMs, signal });
  const result = waitMs === 0 ? null : await runtime.engine.resultOf(delegationId);
  const url = urlOfRun(origin, runId);
  return { runId, delegationId, url, result: result && withoutChildren(result) };
}

export function urlOfRun(origin: string, runId: string): string {
  return `${origin}/api/v1/runs/${runId}`;
}

/** Waits until the run has finished, the time is over, or the signal aborts. */
export function untilFinished(
  { clock, store }: Pick<Runtime, "clock" | "store">,
  runId: string,
  { signal, waitMs }: { readonly signal: AbortSignal; readonly waitMs: number },
): Promise<void> {
  if (waitMs === 0 || signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = clock.after(waitMs, end);
    const unsubscribe = store.subscribe((events) => {
      if (events.some(({ run_id, type }) => run_id === runId && type === "run.finished")) end();
    });
    signal.addEventListener("abort", end, { once: true });
    // The run may have finished before the subscription.
    store.readRun(runId).then((run) => {
      if (run === undefined || run.outcome !== null) end();
    }, end);

    function end(): void {
      timer.cancel();
      unsubscribe();
      signal.removeEventListener("abort", end);
      resolve();
    }
  });
}
