import type { KeyboardEvent } from "react";

/** Enter sends, wherever something is written; with Shift it is a new line. */
export function isSending({ key, nativeEvent, shiftKey }: KeyboardEvent): boolean {
  // What an input method is given by Enter is not finished yet.
  return key === "Enter" && !shiftKey && !nativeEvent.isComposing;
}
