import type { SessionEntry } from "../../../src/sessions/session-entry.ts";

/**
 * The question that still waits for its answer. An entry alone does not tell: one that no person
 * answered in time has none either. An agent asks one at a time, so it is the last.
 */
export function waitingQuestion(
  entries: readonly SessionEntry[],
  isAsking: boolean,
): SessionEntry | undefined {
  const last = isAsking ? entries.findLast(({ kind }) => kind === "question") : undefined;
  return last?.kind === "question" && last.answer === null ? last : undefined;
}
