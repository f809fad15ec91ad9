import type { Candidate } from "../../application/commands/complete-command.ts";

export interface ChatWord extends Candidate {
  readonly does: "leave" | "begin-session" | "list-keys";
}

/** Words of the chat itself. All other words with a slash are commands. */
const chatWords: readonly ChatWord[] = [
  {
    text: "/new",
    description: "begins a new session; running work continues",
    does: "begin-session",
  },
  { text: "/keys", description: "lists the keys", does: "list-keys" },
  { text: "/quit", description: "leaves; nothing is cancelled", does: "leave" },
  { text: "/exit", description: "leaves; nothing is cancelled", does: "leave" },
];

export function chatWordOf(typed: string): ChatWord | undefined {
  const word = typed.trimEnd();
  return chatWords.find(({ text }) => text === word);
}

export function completeChatWord(typed: string): readonly ChatWord[] {
  return chatWords.filter(({ text }) => text.startsWith(typed));
}

/** Below the help of commands. */
export const chatWordsHelp = `Only here:\n${chatWords
  .map(({ description, text }) => `${text}: ${description}`)
  .join("\n")}\n? on an empty line lists the keys.`;
