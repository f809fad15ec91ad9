import type { WaitingOn } from "../../../../src/events/delegation.ts";
import { closeReasonWords } from "../../components/close-reason-words.ts";
import { type ShownState, shownState } from "../../components/state-badge.tsx";
import type { TreeRow } from "./run-tree-rows.ts";

/** What a delegation is doing, or how it ended, in a few words. */
export function describeActivity(row: TreeRow, isInterrupted: boolean): string {
  const { children, delegation, notes, openChildren } = row;
  const parts: string[] = [];
  if (delegation.status === "closed") {
    const isDone = delegation.finalStatus === "completed";
    parts.push(
      isDone
        ? delegation.output?.truncated
          ? "Done, cut short"
          : "Done"
        : closeReasonWords(delegation.closeReason),
    );
  } else if (isInterrupted) parts.push("Interrupted");
  else if (delegation.status === "created") parts.push("Waits for a slot");
  else if (delegation.status === "running") {
    parts.push(
      isJoining(row)
        ? `Waits for ${openChildren} of ${children}`
        : describeWaiting(delegation.waitingOn),
    );
  } else parts.push(describeOutput(row));
  if (delegation.attempt > 1) parts.push(`attempt ${delegation.attempt}/${notes.attempts}`);
  if (delegation.unmetered) parts.push("not metered");
  if (notes.refusals > 0) parts.push(`${notes.refusals} refused`);
  return parts.join(" · ");
}

/** The activity of an agent that has answered: it closes after its background children. */
function describeOutput({ delegation, openChildren }: TreeRow): string {
  if (delegation.status !== "waiting_for_merge") return "Handing in";
  if (delegation.ask) return "Asks you";
  if (delegation.isPaused) return "Paused";
  if (delegation.output.running === undefined || openChildren === 0) return "Handing in";
  return `Answered, ${openChildren} sub-agent${openChildren === 1 ? "" : "s"} at work`;
}

/** Some of its children are open, and it only waits for them. */
function isJoining({ delegation, openChildren }: TreeRow): boolean {
  if (delegation.status !== "running" || openChildren === 0) return false;
  return delegation.waitingOn.on === "child" || delegation.waitingOn.on === "runtime";
}

export function stateOfRow(row: TreeRow, isInterrupted: boolean): ShownState {
  const state = shownState(row.delegation, isInterrupted);
  return state === "running" && isJoining(row) ? "waiting" : state;
}

function describeWaiting(waitingOn: WaitingOn): string {
  switch (waitingOn.on) {
    case "model":
      return waitingOn.until === undefined ? "Model" : "Retries";
    case "tool":
      return waitingOn.detail;
    case "child":
      return "Delegates";
    case "answer":
      return "Asks you";
    case "approval":
      return "Needs approval";
    case "lock":
      return `Lock: ${waitingOn.detail}`;
    case "slot":
      return "Waits for a slot";
    case "budget":
      return "Waits for budget";
    case "paused":
      return "Paused";
    case "runtime":
      return "Working";
    default:
      return waitingOn satisfies never;
  }
}
