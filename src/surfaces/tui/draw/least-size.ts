import type { ChatState } from "../chat-state.ts";

const leastColumns = 30;
const leastRows = 10;

/** Whether there is no room for a question and what can be answered: then nobody answers one. */
export function isTooSmall({ columns, rows }: Pick<ChatState, "columns" | "rows">): boolean {
  return columns < leastColumns || rows < leastRows;
}

export const tooSmallText = `This window is too small: ${leastColumns} columns and ${leastRows} lines are needed. Ctrl+C twice leaves.`;
