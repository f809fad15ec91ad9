import { callEndIn, saidIn } from "../../../../../src/events/agent-work.ts";
import type { Delegation } from "../../../../../src/events/delegation.ts";
import type { StoredEvent } from "../../../../../src/events/event.ts";

/** What a delegation does, or waits on, for a while. */
export type BarKind =
  | "slot"
  | "own"
  | "model"
  | "tool"
  | "child"
  | "person"
  | "merge"
  | "budget"
  | "paused";

export interface Doing {
  delegation: Delegation;
  /** Calls that were begun and have not ended, by their id; several run side by side. */
  readonly calls: Map<string, OpenCall>;
}

interface OpenCall {
  readonly kind: "tool" | "child";
  readonly tool: string;
  readonly at: number;
}

/** Notes the open calls after an event was applied. */
export function noteCall({ calls, delegation }: Doing, event: StoredEvent): void {
  switch (event.type) {
    case "agent.tool_started": {
      const isJoin = delegation.status === "running" && delegation.waitingOn.on === "child";
      const { call_id: id, tool } = event.payload;
      calls.set(id, { kind: isJoin ? "child" : "tool", tool, at: event.at });
      break;
    }
    case "agent.program_started":
    case "agent.resumed":
    case "agent.subagent_attempt":
      // What another process had begun is over.
      calls.clear();
      break;
    case "agent.program_reported": {
      const [call] = saidIn(event)?.calls ?? [];
      if (call) calls.set(call.id, { kind: "tool", tool: call.title ?? call.name, at: event.at });
      break;
    }
  }
  const end = callEndIn(event);
  if (end !== undefined) calls.delete(end.callId);
}

export function doingOf({ calls, delegation }: Doing): {
  readonly kind: BarKind;
  /** What the agent waits for, exactly: the name of the tool, or the question. */
  readonly detail: string | null;
} {
  const { status } = delegation;
  if (status === "created") return { kind: "slot", detail: null };
  if (status !== "running") {
    const isAsked = status === "waiting_for_merge" && delegation.ask !== null;
    return { kind: isAsked ? "person" : "merge", detail: null };
  }
  const { waitingOn } = delegation;
  switch (waitingOn.on) {
    case "model":
    case "tool":
    case "child":
      return { kind: waitingOn.on, detail: "detail" in waitingOn ? waitingOn.detail : null };
    case "answer":
    case "approval":
      return { kind: "person", detail: waitingOn.detail };
    case "runtime": {
      const left = [...calls.values()];
      const call = left.find(({ kind }) => kind === "tool") ?? left[0];
      return call === undefined
        ? { kind: "own", detail: null }
        : { kind: call.kind, detail: call.tool };
    }
    case "lock":
      return { kind: "tool", detail: waitingOn.detail };
    default:
      return { kind: waitingOn.on, detail: null };
  }
}
