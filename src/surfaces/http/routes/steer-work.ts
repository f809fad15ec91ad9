import type { z } from "zod";
import { EngineSteering } from "../../../commands/engine-steering.ts";
import type { Principal } from "../../../control/records/principal.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import { readRunOf } from "../../../sessions/read-run.ts";
import type { Host } from "../host.ts";
import type { cancelReply } from "../shapes/delegation-shapes.ts";
import type { resumedRun } from "../shapes/run-shapes.ts";
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

/** Goes on with what was interrupted, cancelled or failed, where this server works at all. */
export async function resumeWork(
  host: Host,
  id: string,
  by: Principal,
): Promise<z.infer<typeof resumedRun>> {
  await readRunOf(host.runtime.store, id);
  const requireFolder = (workspace: string | null) => requireServed(host, workspace);
  const steering = new EngineSteering(host.runtime, { by, requireFolder });
  const { as, delegationId, runId } = await steering.resume(id);
  return { runId, delegationId, as, url: urlOfRun(host.origin, runId) };
}
