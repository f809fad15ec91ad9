import { describeAnswered } from "../../application/commands/runs/describe-run.ts";
import type { Delegation, WaitingOn } from "../../events/delegation.ts";
import { printableLine } from "./printable.ts";
import type { AgentNotes } from "./run-view.ts";

interface Circumstances {
  readonly below: readonly Delegation[];
  readonly notes: AgentNotes;
  readonly isInterrupted: boolean;
  readonly now: number;
}

/** What a delegation is doing, or how it ended, in a few words. */
export function describeActivity(delegation: Delegation, circumstances: Circumstances): string {
  const { notes } = circumstances;
  const parts = [stateOf(delegation, circumstances)];
  if (delegation.attempt > 1) parts.push(`attempt ${delegation.attempt}/${notes.attempts}`);
  if (notes.refusals > 0) parts.push(`${notes.refusals} refused`);
  return parts.join(", ");
}

function stateOf(delegation: Delegation, { below, isInterrupted, now }: Circumstances): string {
  if (delegation.status === "closed") {
    if (delegation.finalStatus === "failed") return delegation.closeReason;
    return delegation.output?.truncated ? "done, cut short" : "done";
  }
  if (isInterrupted) return "interrupted";
  if (delegation.status === "created") return "queued";
  if (delegation.status === "waiting_for_merge") return handingIn(delegation, below);
  if (delegation.status !== "running") return "handing in";
  const { waitingOn } = delegation;
  const open = below.filter(({ status }) => status !== "closed").length;
  const isJoining = waitingOn.on === "child" || waitingOn.on === "runtime";
  if (open > 0 && isJoining) return `waits for ${open} of ${below.length}`;
  return describeWaiting(waitingOn, now);
}

function handingIn(
  { ask, isPaused, output }: Extract<Delegation, { status: "waiting_for_merge" }>,
  below: readonly Delegation[],
): string {
  if (isPaused) return "paused";
  const running = below.filter(({ id, status }) => {
    return status !== "closed" && output.running?.includes(id);
  });
  return running.length > 0 && ask === null ? describeAnswered(running.length) : "handing in";
}

export function describeWaiting(waitingOn: WaitingOn, now: number): string {
  switch (waitingOn.on) {
    case "model": {
      const wait = (waitingOn.until ?? now) - now;
      return wait > 0 ? `retry in ${(wait / 1000).toFixed(1)} s` : "model";
    }
    case "tool":
      return printableLine(waitingOn.detail);
    case "child":
      return "delegating";
    case "answer":
      return `asks you (${waitingOn.detail})`;
    case "approval":
      return `approval (${printableLine(waitingOn.detail)})`;
    case "lock":
      return `lock (${printableLine(waitingOn.detail)})`;
    case "slot":
      return "queued";
    case "budget":
      return "waits for budget";
    case "paused":
      return "paused";
    case "runtime":
      return "working";
    default:
      return waitingOn satisfies never;
  }
}
