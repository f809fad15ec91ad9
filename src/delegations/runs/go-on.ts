import { originsIn } from "../../contracts/addresses-in.ts";
import { intersectAuthority } from "../../contracts/authority.ts";
import { requireUnused } from "../changes/used-copies.ts";
import type { Resumption } from "../rests/resumption.ts";
import { withoutWriting } from "../rests/session-mode.ts";
import {
  grantNamed,
  grantTo,
  namedOrigins,
  type RunGrant,
  type RunPrincipal,
} from "../start/run-grant.ts";
import type { StartedRun } from "../start/run-request.ts";
import { modeIn } from "./order-run.ts";
import { type RunOrder, type RunStarting, startRun } from "./start-run.ts";

/** A new run on the conversation, and in the copy, of a delegation that has ended. */
export async function goOn(
  own: RunStarting & { readonly grant: RunGrant },
  resumption: Resumption,
  by: RunPrincipal | undefined,
): Promise<StartedRun> {
  const { store } = own.parts;
  const grant = grantTo(own.grant, by);
  const mode = await modeIn(own.parts, resumption.request.workspace ?? null, grant);
  const {
    copy: copyId,
    cost,
    held,
    isClosedBySession = false,
    request,
    system,
  } = mode === "read-only" ? withoutWriting(resumption) : resumption;
  // What it held then is the most it can hold now, whatever its profile says today.
  const same = { ...intersectAuthority(grant.authority, held), write_roots: held.write_roots };
  const said = request.isTyped ? originsIn(request.task) : [];
  const named = [...namedOrigins(held.ways_out), ...said];
  const order: RunOrder = {
    request: { ...request, isClosedBySession },
    grant: grantNamed({ ...grant, authority: same, cost }, named),
    isReviewed: mode === "copy",
    system,
  };
  if (copyId === undefined) return startRun(own, order);
  const copies = await own.parts.copies();
  return copies.holding(copyId, async () => {
    // Gone, for it held nothing: it still works apart, and what it makes is still looked at.
    if (!copies.has(copyId)) return startRun(own, { ...order, copy: "new" });
    await requireUnused(store, copyId);
    return startRun(own, { ...order, copy: copies.take(copyId) });
  });
}
