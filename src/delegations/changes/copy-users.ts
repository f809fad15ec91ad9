import { existsSync } from "node:fs";
import { basename } from "node:path";
import { MandateError } from "../../ports/mandate-error.ts";
import { WorkingCopies } from "../../workspaces/git/copies/working-copies.ts";
import {
  findWork,
  type KeptWorkParts,
  requireCopy,
  type Work,
  type WorkWithCopy,
} from "./kept-work.ts";
import { usedCopies } from "./used-copies.ts";

/**
 * Acts on a copy while nobody can take it up, in this process or in another: whoever resumes a
 * delegation on its old copy waits in the same line. What was read before that is read again.
 */
export async function holdUnused<Result>(
  parts: KeptWorkParts,
  { copy, delegation }: WorkWithCopy,
  act: (work: WorkWithCopy) => Promise<Result>,
): Promise<Result> {
  return new WorkingCopies(parts.home).holding(copy.id, async () => {
    const work = await requireCopy(parts, await findWork(parts, delegation.id, isClosed));
    const user = (await usedCopies(parts.store)).get(copy.id);
    if (user === undefined) return act(work);
    const sentence =
      user === delegation.id
        ? `Delegation ${user} has not ended yet. Cancel it first, or wait.`
        : `Delegation ${user} goes on with the work of ${delegation.id}. Cancel it first, or wait.`;
    throw new MandateError("conflict", sentence);
  });
}

/** What was made on top of another agent's copy goes back there, once that agent has ended. */
export async function requireTargetAtRest(
  { store }: KeptWorkParts,
  { delegation, copy }: WorkWithCopy,
): Promise<void> {
  const { kind, toplevel } = copy.source;
  if (kind !== "copy") return;
  const target = basename(toplevel);
  const user = (await usedCopies(store)).get(target);
  const about = `Delegation ${delegation.id} worked on top of what ${user ?? target} has changed`;
  if (user !== undefined) {
    throw new MandateError("conflict", `${about}. Wait until ${user} has ended, or cancel it.`);
  }
  if (existsSync(toplevel)) return;
  const next = "Take over its diff by hand, with git apply.";
  throw new MandateError("conflict", `${about}, and the copy of ${target} is gone. ${next}`);
}

export function isClosed({ delegation }: Work): boolean {
  return delegation.status === "closed";
}
