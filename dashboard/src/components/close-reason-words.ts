import { type CloseReason, closeReasonWords as words } from "../../../src/events/close-reason.ts";

/** The words of the timeline and the terminal, to stand alone. */
export function closeReasonWords(reason: CloseReason): string {
  const said = words[reason] ?? reason.replaceAll("_", " ");
  return said.charAt(0).toUpperCase() + said.slice(1);
}
