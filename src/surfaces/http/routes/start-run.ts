import type { z } from "zod";
import { planToRun } from "../../../application/plan-to-run.ts";
import type { Principal } from "../../../control/records/principal.ts";
import type { DelegationResult } from "../../../ports/delegator.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import type { Host } from "../host.ts";
import type { startedRun, startRunBody } from "../shapes/run-shapes.ts";
import { withoutChildren } from "./describe-run.ts";
import { folderOf, sessionOf } from "./place-of-request.ts";
import { untilFinished } from "./until-finished.ts";

type StartRunBody = z.infer<typeof startRunBody>;

/** Starts what a request asks for, in the name of whoever asks. */
export async function startRun(
  host: Host,
  body: StartRunBody,
  by: Principal,
  isTyped: boolean,
): Promise<StartedHere> {
  const { runtime } = host;
  const { budgetTokens, maxCost, maxDepth, maxTokens, readOnly, timeout, watchers } = body;
  requireAtMost("budgetTokens", budgetTokens, runtime.config.limits.runTokens);
  const workspace = await folderOf(host, body.workspace);
  return runtime.engine.startRun({
    ...(await whatToDo(host, body)),
    ...{ budgetTokens, by, maxCost, maxDepth, maxTokens, readOnly, watchers, workspace },
    isRealWorkspace: true,
    isTyped: isTyped && body.plan === undefined,
    timeoutMs: timeout,
    session: sessionOf(by, body.session),
  });
}

async function whatToDo(host: Host, body: StartRunBody) {
  const { agent, context, forwardSkills, modelOverride, plan, profile, task, title, tools } = body;
  if (plan === undefined) {
    if (task === undefined) throw usage("A run needs a task, or a plan in its place.");
    if (profile !== undefined && agent !== undefined) {
      throw usage("Name a profile or an agent, not both.");
    }
    return { task, profile: agent ?? profile, context, title, tools, forwardSkills, modelOverride };
  }
  const said = { task, profile, agent, context, title, tools, forwardSkills, modelOverride };
  const [one] = Object.entries(said).filter(([, value]) => value !== undefined);
  if (one !== undefined) {
    throw usage(`"${one[0]}" cannot be given beside a plan: the plan says who does what.`);
  }
  const { config, control, profiles, store } = host.runtime;
  await control.view.refresh(true);
  const behind = (handle: string) => control.view.entry(handle)?.profileId;
  const { maxChildren } = config.limits;
  const planned = planToRun(plan, { profiles, behind, maxChildren }, profiles);
  host.runtime.engine.requireModel(planned.agents);
  // A plan can be larger than a prompt may be: it is kept, and the run is told its hash.
  const { hash } = await store.keepArtifact(planned.text);
  return { task: planned.task, profile: planned.profile, context: `plan ${hash}` };
}

/** What the installation allows is for its owner to raise, and for nobody who merely asks. */
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

/** What is told of a run that has just begun, with its result if that comes in time. */
export async function describeStarted(
  { origin, runtime }: Host,
  { delegationId, runId }: StartedHere,
  waitMs: number,
  signal: AbortSignal,
): Promise<z.infer<typeof startedRun>> {
  await untilFinished(runtime.store, runId, waitMs, signal, runtime.clock);
  const result = waitMs === 0 ? null : await runtime.engine.resultOf(delegationId);
  const url = urlOfRun(origin, runId);
  return { runId, delegationId, url, result: result && withoutChildren(result) };
}

export function urlOfRun(origin: string, runId: string): string {
  return `${origin}/api/v1/runs/${runId}`;
}
