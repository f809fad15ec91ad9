import type { Candidate } from "../../application/commands/complete-command.ts";

export interface ChatWord extends Candidate {
  /** `command`: `LocalCommands` has it, with what stands behind it. */
  readonly does: "leave" | "begin-session" | "clear" | "list-keys" | "command";
  /** What it takes, for people. */
  readonly form?: string;
}

/** Words of the chat itself. All other words with a slash are commands of every surface. */
const chatWords: readonly ChatWord[] = [
  {
    text: "/diff",
    form: "[id]",
    description: "shows what is not committed in this folder, or what a delegation changed",
    does: "command",
  },
  {
    text: "/merge",
    form: "[id] [--any-path] [--skip-checks] [--with-configuration]",
    description: "merges the changes that a failed delegation kept",
    does: "command",
  },
  {
    text: "/discard",
    form: "[id] [--yes]",
    description: "deletes such changes for good",
    does: "command",
  },
  {
    text: "/model",
    form: "[provider/model]",
    description: "shows the models, or has one answer from the next message on",
    does: "command",
  },
  {
    text: "/cost",
    description: "shows what this session has spent, and how full its context is",
    does: "command",
  },
  {
    text: "/new",
    description: "begins a new session; running work continues",
    does: "begin-session",
  },
  { text: "/clear", description: "the same, on an empty screen", does: "clear" },
  { text: "/keys", description: "lists the keys", does: "list-keys" },
  { text: "/quit", description: "leaves; nothing is cancelled", does: "leave" },
  { text: "/exit", description: "leaves; nothing is cancelled", does: "leave" },
];

/** A word that needs nothing but the screen; undefined also where more is typed behind it. */
export function chatWordOf(typed: string): Exclude<ChatWord["does"], "command"> | undefined {
  const word = typed.trimEnd();
  const does = chatWords.find(({ text }) => text === word)?.does;
  return does === "command" ? undefined : does;
}

export function completeChatWord(typed: string): readonly ChatWord[] {
  return chatWords.filter(({ text }) => text.startsWith(typed));
}

/** Below the help of commands. */
export const chatWordsHelp = `Only here:\n${chatWords
  .map(({ description, form = "", text }) => `${`${text} ${form}`.trimEnd()}: ${description}`)
  .join(
    "\n",
  )}\n!command: runs it in your shell, as you; the agent gets the output with your next message
@file: names a file of this folder
? on an empty line lists the keys.`;
