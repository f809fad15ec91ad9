import { printableLine } from "../../cli/printable.ts";
import type { Departure } from "../chat-input.ts";
import {
  type AgentLine,
  type ChatState,
  childrenAtWork,
  type InterruptChoice,
} from "../chat-state.ts";

export interface LeaveChoice {
  readonly how: Departure | "stay";
  readonly text: string;
  readonly detail: string;
}

/** The choices for background sub-agents when the person leaves. */
export const leaveChoices: readonly LeaveChoice[] = [
  { how: "wait", text: "Wait for them", detail: "and leave when they have ended" },
  { how: "detach", text: "Leave them running", detail: "in a process without a terminal" },
  { how: "cancel", text: "Cancel them", detail: "what was answered stays" },
  { how: "stay", text: "Stay", detail: "nothing changes" },
];

/** The choices for the children of an interrupted turn. */
export function interruptChoices(
  state: Pick<ChatState, "agents" | "turn">,
): readonly InterruptChoice[] {
  const children = childrenAtWork(state);
  const staying = children.filter(({ onInterrupt = "cancel" }) => onInterrupt !== "cancel");
  const byContract: InterruptChoice = {
    how: "by-contract",
    text: "Stop, as their contracts say",
    detail: staying
      .map(({ label, onInterrupt }) => `${printableLine(label)} ${wordOf(onInterrupt)}`)
      .join(", "),
  };
  return [
    ...(staying.length === 0 ? [] : [byContract]),
    { how: "cancel", text: "Cancel all", detail: "what they did is kept, and can be resumed" },
    {
      how: "after-children",
      text: "Let them finish",
      detail: "and stop then, before the next step",
    },
    {
      how: "background",
      text: "Leave it running",
      detail: "beside a new session; Ctrl+G comes back",
    },
    { how: "go-on", text: "Continue", detail: "nothing is interrupted" },
  ];
}

function wordOf(onInterrupt: AgentLine["onInterrupt"]): string {
  return onInterrupt === "pause" ? "pauses" : "continues";
}
