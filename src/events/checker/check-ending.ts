import { type CloseReason, closeReasons } from "../close-reason.ts";
import type { StoredEvent } from "../event.ts";
import type { CheckedRun, Known, RunCheck } from "./checked-run.ts";

/** I6: what `closed` says is what happened: how it ended, why, and whose end it is. */
export function checkEnding({ report }: CheckedRun): RunCheck {
  const ends = new Map<Known, { readonly status: string; readonly reason: CloseReason }>();
  return {
    see(event, delegation) {
      if (delegation === undefined) return;
      if (event.type === "agent.subagent_completed") {
        ends.set(delegation, { status: "completed", reason: event.payload.reason });
      } else if (event.type === "agent.subagent_failed") {
        ends.set(delegation, { status: "failed", reason: event.payload.code });
      } else if (event.type === "agent.subagent_closed") {
        const end = ends.get(delegation);
        ends.delete(delegation);
        for (const problem of problemsOf(event, delegation, end)) {
          report("I6", problem, { delegationId: delegation.id, seq: event.seq });
        }
      }
    },
  };
}

function* problemsOf(
  { payload }: StoredEvent<"agent.subagent_closed">,
  { id, created }: Known,
  end: { readonly status: string; readonly reason: CloseReason } | undefined,
): Generator<string> {
  if (payload.sub_agent_id !== id || payload.step_idx !== created.step_idx) {
    yield "Its close names another delegation or step.";
  }
  if (payload.final_status !== end?.status) {
    yield `It is closed as ${payload.final_status}, but it is ${end?.status}.`;
  }
  if (!closeReasons.includes(payload.close_reason)) {
    yield `There is no close reason ${payload.close_reason}.`;
  } else if (payload.close_reason !== end?.reason) {
    yield `It is closed for ${payload.close_reason}, but it ended for ${end?.reason}.`;
  }
}
