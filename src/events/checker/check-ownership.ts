import type { CheckedRun, Known, RunCheck } from "./checked-run.ts";

/**
 * I9: every claim of a run, or of a delegation in a distributed run, raises the fence by one, and a
 * resumption has the current fence. I18: no worker claims a run from itself, so a second recovery writes
 * nothing. A suspended run has no owner: its last worker may resume it.
 */
export function checkOwnership({ report }: CheckedRun): RunCheck {
  let worker: string | undefined;
  let fence = 0;
  let isResting = false;
  let isDistributed = false;
  const claims = new Map<string, number>();
  let root: string | undefined;
  // Watchers belong to the owner of the root.
  const fenceOf = (delegation: Known | undefined): number =>
    claims.get(delegation?.id ?? "") ?? claims.get(root ?? "") ?? fence;
  return {
    see(event, delegation) {
      switch (event.type) {
        case "run.started":
          worker = event.payload.worker;
          fence = event.payload.fence;
          isDistributed = event.payload.spread !== undefined;
          break;
        case "agent.subagent_created":
          root ??= delegation?.id;
          break;
        case "agent.claimed": {
          const id = delegation?.id ?? "";
          const before = claims.get(id) ?? 0;
          claims.set(id, event.payload.fence);
          const isShared = isDistributed && delegation?.created.budget !== undefined;
          if (isShared && event.payload.fence === before + 1) break;
          const message = isShared
            ? `It is claimed with fence ${event.payload.fence} after ${before}.`
            : "It is claimed, but its run is not distributed.";
          report("I9", message, { delegationId: id, seq: event.seq });
          break;
        }
        case "run.resumed":
          if (event.payload.fence !== fence + 1) {
            const message = `The run is claimed with fence ${event.payload.fence} after ${fence}.`;
            report("I9", message, { seq: event.seq });
          }
          if (event.payload.worker === worker && !isResting) {
            report("I18", "The run is claimed by the worker that owns it.", { seq: event.seq });
          }
          worker = event.payload.worker;
          fence = event.payload.fence;
          break;
        case "agent.paused":
          if (isRoot(delegation) && event.payload.reason !== "budget") isResting = true;
          break;
        case "agent.interrupted":
          if (isRoot(delegation)) isResting = false;
          break;
        case "agent.resumed":
          if (isRoot(delegation)) isResting = false;
          if (event.payload.fence !== fenceOf(delegation)) {
            const message = `It is resumed with fence ${event.payload.fence}; the current one is ${fenceOf(delegation)}.`;
            report("I9", message, {
              ...(delegation && { delegationId: delegation.id }),
              seq: event.seq,
            });
          }
          break;
        default:
      }
    },
  };
}

function isRoot(delegation: Known | undefined): boolean {
  return delegation?.created.parent_id === null && delegation.created.depth === 0;
}
