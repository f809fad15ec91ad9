import type { Candidate } from "../../application/commands/complete-command.ts";

export interface ChatWord extends Candidate {
  /** `command`: `LocalCommands` has it, with what stands behind it. */
  readonly does: "leave" | "begin-session" | "clear" | "list-keys" | "command";
  /** The form of the arguments, for people. */
  readonly form?: string;
}

/** Words of the chat itself. All other words with a slash are commands of every surface. */
const chatWords: readonly ChatWord[] = [
  {
    text: "/diff",
    form: "[id]",
    description: "Shows what is not committed in this folder, or what a delegation changed.",
    does: "command",
  },
  {
    text: "/merge",
    form: "[id] [--any-path] [--skip-checks] [--with-configuration]",
    description: "Merges the changes that a failed delegation kept.",
    does: "command",
  },
  {
    text: "/discard",
    form: "[id] [--yes]",
    description: "Deletes such changes for good.",
    does: "command",
  },
  {
    text: "/model",
    form: "[provider/model]",
    description: "Shows the models, or has one answer from the next message on.",
    does: "command",
  },
  {
    text: "/cost",
    description: "Shows what this session has spent, and how full its context is.",
    does: "command",
  },
  {
    text: "/new",
    description: "Begins a new session; running work continues.",
    does: "begin-session",
  },
  { text: "/clear", description: "The same, on an empty screen.", does: "clear" },
  { text: "/keys", description: "Lists the keys.", does: "list-keys" },
  { text: "/quit", description: "Leaves; nothing is cancelled.", does: "leave" },
  { text: "/exit", description: "Leaves; nothing is cancelled.", does: "leave" },
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

export const wordsOfChat: readonly string[] = chatWords.map(({ text }) => text.slice(1));

/** The reply to what no command takes: help about a word of the chat, or too much behind one. */
export function explainChatWord(typed: string): { ok: boolean; text: string } | undefined {
  const [first, ...behind] = typed.trim().split(/\s+/);
  const asked = chatWords.find(({ text }) => text === `/${behind[0]?.replace(/^\//, "")}`);
  if (first === "/help" && asked !== undefined) return { ok: true, text: lineOf(asked) };
  const word = chatWords.find(({ text }) => text === first);
  // Options are counted where they are known.
  if (word === undefined || word.form?.includes("--")) return undefined;
  if (behind.length <= (word.form === undefined ? 0 : 1)) return undefined;
  return { ok: false, text: `Too much is typed behind ${first}.\nUsage: ${usageOf(word)}` };
}

function usageOf({ form = "", text }: ChatWord): string {
  return `${text} ${form}`.trimEnd();
}

function lineOf(word: ChatWord): string {
  return `${usageOf(word)}: ${word.description}`;
}

/** Below the help of commands. */
export const chatWordsHelp = `Only here:\n${chatWords.map(lineOf).join("\n")}\n!command: Runs it in your shell, as you; the agent gets the output with your next message.
@file: Names a file of this folder.
?: Lists the keys, on an empty line.`;
