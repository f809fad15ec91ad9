import type { z } from "zod";
import { type ForkPlace, type ForkRequest, Forks } from "../../../commands/forks.ts";
import type { Principal } from "../../../control/records/principal.ts";
import { readRunOf } from "../../../sessions/read-run.ts";
import type { Host } from "../host.ts";
import type { forkedRun } from "../shapes/run-shapes.ts";
import { requireServed, sessionOf } from "./place-of-request.ts";
import { urlOfRun } from "./start-run.ts";

/** Goes on from the middle of a run, where this server works at all, in the name of whoever asks. */
export async function forkRun(
  host: Host,
  request: ForkRequest,
  by: Principal,
): Promise<z.infer<typeof forkedRun>> {
  const { origin, runtime } = host;
  const { session, workspace } = await readRunOf(runtime.store, request.runId);
  await requireServed(host, workspace);
  const isOwn = session?.id.startsWith(sessionOf(by, "") ?? "") === true;
  // Pins and modes of somebody else's session are theirs; what that one might not write stays so.
  const place: ForkPlace = {
    ...{ by, isRealWorkspace: true },
    ...(!isOwn && { session: undefined }),
    ...(!isOwn && session?.read_only === true && { readOnly: true }),
  };
  const forks = host.forks ?? new Forks();
  const { delegationId, runId, sharedUpTo, turns } = await forks.fork(runtime, request, place);
  return { runId, delegationId, url: urlOfRun(origin, runId), turns, sharedUpTo };
}
