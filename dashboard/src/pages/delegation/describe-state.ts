import type { Delegation, WaitingOn } from "../../../../src/events/delegation.ts";
import { closeReasonWords } from "../../components/close-reason-words.ts";

/** What it is doing, or how it ended, in a few words. */
export function describeState(delegation: Delegation, isInterrupted: boolean): string {
  if (delegation.status === "closed") {
    const { closeReason, finalStatus } = delegation;
    if (finalStatus === "failed") return closeReasonWords(closeReason);
    const reason = closeReason.replaceAll("_", " ");
    return delegation.output?.truncated ? "Done, cut short" : `Done: ${reason}`;
  }
  if (isInterrupted) return "Interrupted: no worker owns it";
  switch (delegation.status) {
    case "created":
      return "Waits for a slot";
    case "running":
      return describeWaiting(delegation.waitingOn);
    case "waiting_for_merge":
      return delegation.ask ? "Asks whether to merge" : "Submitting";
    default:
      return "Closing";
  }
}

function describeWaiting(waitingOn: WaitingOn): string {
  switch (waitingOn.on) {
    case "model":
      return waitingOn.until === undefined ? "Waits for the model" : "Retries the model";
    case "tool":
      return `Runs ${waitingOn.detail}`;
    case "child":
      return "Waits for sub-agents";
    case "answer":
      return "Asks you";
    case "approval":
      return "Needs an approval";
    case "lock":
      return `Waits for ${waitingOn.detail}`;
    case "slot":
      return "Waits for a slot";
    case "budget":
      return "Waits for budget";
    case "paused":
      return "Paused until a person resumes the run";
    case "runtime":
      return "Working";
    default:
      return waitingOn satisfies never;
  }
}
