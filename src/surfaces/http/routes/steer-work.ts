import { z } from "zod";
import { cancelAfterChildren } from "../../../application/cancel-after-children.ts";
import { EngineSteering } from "../../../application/engine-steering.ts";
import type { ResumedRunWork } from "../../../application/steering.ts";
import type { Principal } from "../../../control/records/principal.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import { Inbox } from "../../../sessions/inbox.ts";
import { readRunOf } from "../../../sessions/read-run.ts";
import type { Host } from "../route.ts";
import { requireServed } from "./place-of-request.ts";
import { listOf } from "./shared-schemas.ts";
import { startRunBody, urlOfRun, workflowBody } from "./start-run.ts";

export const cancelBody = z.strictObject({ reason: z.string().min(1).max(500).optional() });

export const cancelReply = z.object({
  id: z.string(),
  outcome: z.enum(["cancelled", "already_terminal"]),
});

export const answerText = z.string().min(1).max(100_000);

export const answerReply = z.object({ askId: z.string(), accepted: z.literal(true) });

export const sendBody = z.strictObject({ message: z.string().min(1).max(100_000) });

export const sendReply = z.object({ delegationId: z.string(), messageId: z.string() });

export const resumeBody = z.strictObject({
  maxTokens: startRunBody.shape.maxTokens,
  maxCost: startRunBody.shape.maxCost,
  timeout: startRunBody.shape.timeout,
  workflow: workflowBody.pick({ args: true, limits: true }).optional().meta({
    description: "Of a run that carries out a workflow: other arguments or limits than before.",
  }),
});

const resumedOne = z.object({
  runId: z.string(),
  delegationId: z.string(),
  as: z
    .enum(["same", "new"])
    .meta({ description: "same: the run itself continues; new: a new run continues it." }),
  from: z.string().meta({ description: "The delegation that is continued." }),
  agents: listOf(z.string()).meta({
    description: "Whose results count: the root's, or those of an external agent's sub-agents.",
  }),
  url: z.string(),
});

/** The reply to a resumption: the first run that continues, and all of them. */
export const resumedRun = resumedOne.extend({
  runs: listOf(resumedOne).meta({
    description:
      "All continued runs; several when an external agent left several incomplete sub-agents.",
  }),
  refused: listOf(z.object({ delegationId: z.string(), reason: z.string() })).meta({
    description: "Sub-agents that could not be resumed, and why.",
  }),
});

/** Cancels a run or a delegation with everything below it; what is closed stays as it is. */
export async function cancelWork(
  { runtime }: Host,
  id: string,
  by: Principal,
  reason = `cancelled by ${by.id}`,
): Promise<z.infer<typeof cancelReply>> {
  const isThere = (await runtime.store.findRun(id)) !== undefined;
  const outcome = isThere ? await runtime.engine.cancel(id, reason) : "not_found";
  if (outcome !== "not_found") return { id, outcome };
  const [code, what] = id.startsWith("r")
    ? (["unknown-run", "run"] as const)
    : (["unknown-delegation", "delegation"] as const);
  throw new MandateError(code, `There is no ${what} ${id}.`);
}

export const interruptBody = z.strictObject({
  how: z.enum(["by-contract", "after-children"]).optional().meta({
    description:
      "by-contract (default): each sub-agent's contract says whether it stops, pauses or continues; after-children: the run is cancelled when no sub-agent is open.",
  }),
});

export const interruptReply = z.object({
  id: z.string(),
  outcome: z.enum(["cancelled", "continuing", "paused", "waiting", "already_terminal"]).meta({
    description:
      "continuing: some sub-agents work to their end; waiting: it ends after its sub-agents.",
  }),
});

/** Interrupts a run, as Esc does in a chat. */
export async function interruptWork(
  { runtime: { engine, store } }: Host,
  id: string,
  by: Principal,
  { how = "by-contract" }: z.infer<typeof interruptBody>,
): Promise<z.infer<typeof interruptReply>> {
  await readRunOf(store, id);
  if (how === "after-children") {
    const outcome = await cancelAfterChildren({ engine, store }, id, `interrupted by ${by.id}`);
    if (outcome === "not_found") throw new MandateError("unknown-run", `There is no run ${id}.`);
    return { id, outcome };
  }
  const { outcome } = await engine.interrupt(id, `interrupted by ${by.id}`);
  return { id, outcome };
}

/**
 * Sends a message. The run's log has the message; the control log has the sender, also of a refused
 * one. Only text that was typed in the dashboard counts as a person's.
 */
export async function tellAgent(
  { runtime: { control, engine, store } }: Host,
  id: string,
  by: Principal,
  { isTyped, text }: { readonly isTyped: boolean; readonly text: string },
): Promise<z.infer<typeof sendReply>> {
  await readRunOf(store, id);
  try {
    const sent = await engine.send(id, text, isTyped ? "person" : "caller");
    await control.plane.noteCommand(`tell ${id}`, by, "done");
    return sent;
  } catch (error) {
    const code = error instanceof MandateError ? error.code : "failed";
    await control.plane.noteCommand(`tell ${id}`, by, code);
    throw error;
  }
}

/** Resumes paused, interrupted, cancelled or failed work, if this server serves its folder. */
export async function resumeWork(
  host: Host,
  id: string,
  by: Principal,
  { timeout: timeoutMs, ...amounts }: z.infer<typeof resumeBody>,
): Promise<z.infer<typeof resumedRun>> {
  await readRunOf(host.runtime.store, id);
  const requireFolder = (workspace: string | null) => requireServed(host, workspace);
  const steering = new EngineSteering(host.runtime, { by, requireFolder });
  const resumed = await steering.resume(id, { ...amounts, timeoutMs });
  const describe = ({ agents, as, delegationId, from, runId }: ResumedRunWork) => ({
    ...{ runId, delegationId, as, from, agents: [...agents] },
    url: urlOfRun(host.origin, runId),
  });
  const { refused, runs } = resumed;
  return { ...describe(resumed), runs: runs.map(describe), refused: [...refused] };
}

/**
 * Answers a question. The run's log has the answer; the control log has the principal, also of a
 * refused one.
 */
export async function answerQuestion(
  { runtime: { control, store } }: Host,
  askId: string,
  text: string,
  by: Principal,
): Promise<z.infer<typeof answerReply>> {
  try {
    await new Inbox(store).answer(askId, text);
    await control.plane.noteCommand(`answer ${askId}`, by, "done");
    return { askId, accepted: true };
  } catch (error) {
    const code = error instanceof MandateError ? error.code : "failed";
    await control.plane.noteCommand(`answer ${askId}`, by, code);
    throw error;
  }
}
