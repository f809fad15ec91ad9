import { nearestKey } from "../../agents/documents/nearest-key.ts";
import { findHiddenCharacter, quote } from "../../control/records/shown-text.ts";
import { type AnyCommand, usageOf } from "./command.ts";
import { commandTable } from "./command-table.ts";

export interface ParsedCommand {
  readonly name: string;
  /** The parsed arguments. */
  readonly given: object;
}

/** The error for a text that cannot be executed; `usage` says what to type. */
export interface UsageError {
  readonly usage: string;
  /** The command that was meant, if that is clear. */
  readonly name?: string;
}

const maximumLine = 4000;
const maximumLines = 32_000;
const maximumRawText = 1_000_000;
const mostWordsShown = 30;

/** A slash and one word; for families of commands (`/agents pin`) two words. */
const nameAt = /^\/([^ \t\r\n]*)(?:[ \t]+([^ \t\r\n]+))?/;

/**
 * A text is a command if and only if its first character is a slash. With a space before it, in a
 * code block or in quotes, it is ordinary text.
 */
function isCommand(text: string): boolean {
  return text.startsWith("/");
}

/**
 * Parses a command by the text and the known commands alone: the same text gives the same command
 * or error, and nothing is guessed. Arguments are separated by spaces and tabs; quotes have no
 * meaning; a command is one line, unless it takes several or raw text. `otherWords` are suggested,
 * and never executed.
 */
export function parseCommand(
  text: string,
  commands: readonly AnyCommand[] = commandTable,
  otherWords: readonly string[] = [],
): ParsedCommand | UsageError {
  if (!isCommand(text)) return { usage: "A command begins with a slash: /help" };
  const [head = "", first = "", second = ""] = nameAt.exec(text) ?? [];
  const pair = find(`${first} ${second}`, commands);
  const isPair = second !== "" && isFamily(first, commands);
  const command = pair ?? (isPair ? undefined : find(first, commands));
  if (command === undefined) return unknownCommand({ first, second }, commands, otherWords);
  const { name } = command;
  const after = text.slice(pair === undefined ? first.length + 1 : head.length);
  const { rest, problem } = restOf(command, after);
  if (problem !== undefined) return usageError(command, problem);
  const given = command.parse(rest);
  return "problem" in given ? usageError(command, given.problem) : { name, given };
}

export function commandOf(
  { name }: ParsedCommand,
  commands: readonly AnyCommand[] = commandTable,
): AnyCommand {
  const command = find(name, commands);
  if (command === undefined) throw new TypeError(`no command is called ${name}`);
  return command;
}

function find(name: string, commands: readonly AnyCommand[]): AnyCommand | undefined {
  return commands.find((command) => command.name === name);
}

function isFamily(first: string, commands: readonly AnyCommand[]): boolean {
  return commands.some(({ name }) => name.startsWith(`${first} `));
}

/** The text after the name, cut to the limit, and its error. */
function restOf(
  { takesLines, takesRawText }: AnyCommand,
  after: string,
): { readonly rest: string; readonly problem: string | undefined } {
  if (takesRawText) return { rest: after.slice(1), problem: rawProblem(after.slice(1)) };
  const most = takesLines ? maximumLines : maximumLine;
  const rest = trimBlanks(after.slice(0, most), takesLines === true);
  if (after.length > most) return { rest, problem: `It is longer than ${most} characters.` };
  if (!takesLines && /[\r\n]/.test(rest)) return { rest, problem: "It has more than one line." };
  const hidden = findHiddenCharacter(rest, { lines: true });
  return { rest, problem: hidden && `It contains ${hidden}, which is invisible.` };
}

/**
 * Trims blanks; line ends before the text only if the command takes lines. Without a regular
 * expression, which would be quadratic for many blanks.
 */
function trimBlanks(text: string, takesLines: boolean): string {
  const leading = takesLines ? " \t\r\n" : " \t";
  let [start, end] = [0, text.length];
  while (start < end && leading.includes(text.charAt(start))) start++;
  while (end > start && " \t\r\n".includes(text.charAt(end - 1))) end--;
  return text.slice(start, end);
}

function rawProblem(rest: string): string | undefined {
  if (rest.trim() === "") return "There is nothing to apply.";
  return rest.length > maximumRawText ? "It is larger than 1 MB." : undefined;
}

function usageError(command: AnyCommand, problem: string): UsageError {
  return { usage: `${problem}\nUsage: ${usageOf(command)}`, name: command.name };
}

function unknownCommand(
  { first, second }: { readonly first: string; readonly second: string },
  commands: readonly AnyCommand[],
  otherWords: readonly string[],
): UsageError {
  const family = commands.filter(({ name }) => name.startsWith(`${first} `));
  if (family.length > 0) {
    const words = family.map(({ name }) => name.slice(first.length + 1));
    const nearest = nearestKey(second, words);
    const hint = nearest ? `Did you mean /${first} ${nearest}?` : `There are: ${words.join(", ")}.`;
    return { usage: `There is no command ${quote(`/${first} ${second}`)}. ${hint}` };
  }
  const own = commands.map(({ name }) => name.split(" ")[0] ?? name);
  const words = [...new Set([...own, ...otherWords])];
  const nearest = nearestKey(first, words);
  const known = words.slice(0, mostWordsShown).map((word) => `/${word}`);
  const more = words.length > mostWordsShown ? " and more" : "";
  const hint = nearest ? `Did you mean /${nearest}?` : `There are: ${known.join(", ")}${more}.`;
  return { usage: `There is no command ${quote(`/${first}`)}. ${hint}` };
}
