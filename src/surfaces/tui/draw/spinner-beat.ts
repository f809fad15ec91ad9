import type { ChatState } from "../chat-state.ts";

/** Which picture of the spinner is shown. */
export function beatOf({ now }: Pick<ChatState, "now">): number {
  return Math.floor(now / 125);
}
