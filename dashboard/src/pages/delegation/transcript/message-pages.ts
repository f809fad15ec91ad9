import type { SessionEntry } from "../../../../../src/sessions/session-entry.ts";

interface EntryPage {
  readonly items: readonly SessionEntry[];
}

/**
 * Where reading again begins when something happened: entries are only added, but one that waits
 * for its end changes when it comes.
 */
export function firstStalePage(pages: readonly EntryPage[]): number {
  const index = pages.findIndex(({ items }) => items.some(isUnsettled));
  return index < 0 ? Math.max(pages.length - 1, 0) : index;
}

function isUnsettled(entry: SessionEntry): boolean {
  if (entry.kind === "call") return entry.outcome === "open";
  if (entry.kind === "question") return entry.answer === null;
  return entry.kind === "child" && entry.breadcrumb.closeReason === null;
}
