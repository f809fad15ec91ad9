import type { z } from "zod";
import { EngineSteering } from "../../../application/engine-steering.ts";
import type { ResumedRunWork } from "../../../application/steering.ts";
import type { Principal } from "../../../control/records/principal.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import { readRunOf } from "../../../sessions/read-run.ts";
import type { Host } from "../host.ts";
import type { cancelReply, sendReply } from "../shapes/delegation-shapes.ts";
import type { resumeBody, resumedRun } from "../shapes/run-shapes.ts";
import { requireServed } from "./place-of-request.ts";
import { urlOfRun } from "./start-run.ts";

/** Of a run or a delegation, with everything below it; what has ended stays as it is. */
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

/**
 * The log of the run has the message; the control log says who sent it, also when it was refused.
 * What a program sends with a token is not a person's word.
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

/** Resumes what was paused, interrupted, cancelled or failed, where this server works at all. */
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
