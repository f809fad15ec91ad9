import type { CloseReason } from "../../../src/events/close-reason.ts";

/** `budget_exhausted` as people say it. */
export function closeReasonWords(reason: CloseReason): string {
  if (reason === "timeout") return "Timed out";
  const words = reason.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
