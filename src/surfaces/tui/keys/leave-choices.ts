import type { Departure } from "../chat-input.ts";

export interface LeaveChoice {
  readonly how: Departure | "stay";
  readonly text: string;
  readonly detail: string;
}

/** What can become of sub-agents in the background when the person leaves. */
export const leaveChoices: readonly LeaveChoice[] = [
  { how: "wait", text: "Wait for them", detail: "and leave when they have ended" },
  { how: "detach", text: "Leave them running", detail: "in a process without a terminal" },
  { how: "cancel", text: "Cancel them", detail: "what was answered stays" },
  { how: "stay", text: "Stay", detail: "nothing changes" },
];
