import { type CheckedRun, type Known, type RunCheck, withAncestors } from "./checked-run.ts";

/**
 * I13: nothing is closed while something below it is open. By induction, children are enough. One
 * that has answered while its children work waits in `waiting_for_merge`: it is not taken over
 * before they are closed.
 */
export function checkClosing({ report }: CheckedRun): RunCheck {
  const openChildren = new Map<Known, Set<Known>>();
  const tell = (delegation: Known, what: string, seq: number): void => {
    for (const child of openChildren.get(delegation) ?? []) {
      if (child.phase === "closed" || child.isBroken) continue;
      const message = `It is ${what} while its child ${child.id} is ${child.phase}.`;
      report("I13", message, { delegationId: delegation.id, seq });
    }
  };
  return {
    see(event, delegation) {
      if (delegation === undefined) return;
      const { parent } = delegation;
      if (event.type === "agent.subagent_created" && parent !== null) {
        const siblings = openChildren.get(parent);
        if (siblings) siblings.add(delegation);
        else openChildren.set(parent, new Set([delegation]));
      } else if (event.type === "agent.subagent_completed") {
        tell(delegation, "completed", event.seq);
      } else if (event.type === "agent.subagent_closed") {
        if (parent !== null) openChildren.get(parent)?.delete(delegation);
        tell(delegation, "closed", event.seq);
        openChildren.delete(delegation);
      }
    },
  };
}

const beginnings: ReadonlySet<string> = new Set([
  "agent.subagent_created",
  "agent.subagent_started",
  "agent.subagent_attempt",
  "agent.budget_reserved",
  "agent.tool_started",
]);

/**
 * I17: once the log says that something was cancelled, nothing begins in it or below it; nor while
 * it says that something rests.
 */
export function checkCancel({ report }: CheckedRun): RunCheck {
  const stopped = new Map<Known, "cancelled" | "paused">();
  return {
    see(event, delegation) {
      if (delegation === undefined) return;
      if (event.type === "agent.subagent_failed" && event.payload.code === "cancelled") {
        stopped.set(delegation, "cancelled");
      } else if (event.type === "agent.paused" && event.payload.reason !== "budget") {
        stopped.set(delegation, "paused");
      } else if (event.type === "agent.resumed" || event.type === "agent.interrupted") {
        stopped.delete(delegation);
      }
      if (stopped.size === 0 || !beginnings.has(event.type)) return;
      for (const above of withAncestors(delegation)) {
        const how = stopped.get(above);
        if (how === undefined) continue;
        const message = `${event.type} follows after ${above.id} was ${how}.`;
        report("I17", message, { delegationId: delegation.id, seq: event.seq });
        return;
      }
    },
  };
}
