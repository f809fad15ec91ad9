import { type ChatState, inboxOrder } from "./chat-state.ts";
import { helpLines } from "./draw/draw-help.ts";
import { wholeLines } from "./draw/draw-whole.ts";

/** Lines that a panel's list has when the panel has the screen to itself. */
function panelRoom({ agents, rows }: Pick<ChatState, "agents" | "rows">): number {
  const [frame, status, ledger] = [2, 1, agents.length === 0 ? 0 : 1];
  return Math.max(1, rows - frame - status - ledger);
}

/** Lines for the question that is chosen in the inbox: below its title, above two others. */
export function questionRoom(room: number): number {
  return Math.max(2, room - 5);
}

/** The text of what is chosen in the inbox, where it is a question that is open. */
export function chosenQuestion(state: ChatState, chosen: number | null): string | undefined {
  const item = inboxOrder(state).find(({ id }) => id === chosen);
  return item?.ask && item.isOpen
    ? (state.inbox.questions.get(item.ask.id) ?? item.text)
    : undefined;
}

/** How far what is open can be scrolled; 0: all of it is there. */
export function lastTop(state: ChatState): number {
  const { columns, panel, tree } = state;
  const room = panelRoom(state);
  switch (panel.is) {
    case "help":
      return Math.max(0, helpLines(state).length - room);
    case "tree":
      return Math.max(0, tree.length - room);
    case "inbox": {
      const question = chosenQuestion(state, panel.chosen);
      const lines = question === undefined ? 0 : wholeLines(question, columns).length;
      const most = questionRoom(room);
      return lines <= most ? 0 : lines - most + 1;
    }
    case "none":
    case "sessions":
    case "interrupt":
    case "leaving":
      return 0;
    default:
      return panel satisfies never;
  }
}
