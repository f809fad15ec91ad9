import type { Delegation } from "../../events/delegation.ts";
import type { StoredEvent } from "../../events/event.ts";
import { childrenOf, type RunState } from "../../events/run-state.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { EngineParts } from "../engine-parts.ts";

/**
 * The claim under which files of a delegation's copy may last have been written, by its log; 0: they
 * are what they were when it was made. A call that began counts, whatever became of it, and so does
 * everybody who wrote into its folder: those whose work was merged there, and those who worked in it.
 * `until`: the claim of whoever asks, who has not begun yet.
 */
export async function lastWritten(
  { store, toolbox }: Pick<EngineParts, "store" | "toolbox">,
  run: RunState | null,
  { id }: Delegation,
  events: readonly StoredEvent[],
  until = Number.POSITIVE_INFINITY,
): Promise<number> {
  let claim = 0;
  let written = 0;
  for (const { payload, type } of events) {
    if (type === "agent.claimed" && payload.fence < until) claim = payload.fence;
    else if (type === "agent.tool_started") {
      const effect = toolbox.get(payload.tool)?.effect ?? "exec";
      if (effect === "write" || effect === "exec") written = claim;
    }
  }
  if (written === claim || run === null) return written;
  for (const child of childrenOf(run, id)) {
    if (child.status !== "created" && (await writesAbove(store, child))) return claim;
  }
  return written;
}

/** Whether a child may have put something into the folder of the one who called it. */
async function writesAbove(store: EngineParts["store"], child: Delegation): Promise<boolean> {
  try {
    const { workspace } = await store.readContract(child.id);
    if (workspace.copy === undefined) return workspace.allow_writes;
    return child.status === "closed" && child.finalStatus === "completed";
  } catch (error) {
    // What it was allowed is not known any more.
    if (error instanceof MandateError) return true;
    throw error;
  }
}
