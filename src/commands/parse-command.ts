import { findHiddenCharacter, quote } from "../control/records/shown-text.ts";
import { nearestKey } from "../documents/nearest-key.ts";
import { type AnyCommand, usageOf } from "./command.ts";
import { commandTable } from "./command-table.ts";

export interface ParsedCommand {
  readonly name: string;
  /** What the command made of the text after its name. */
  readonly given: object;
}

/** Not executed; `usage` says to the person what to type. */
export interface UsageError {
  readonly usage: string;
  /** The command it was meant to be, where that is clear. */
  readonly name?: string;
}

const maximumLine = 4000;
const maximumRawText = 1_000_000;

/** A slash and one word, and where commands come in families (`/agents pin`) the second one. */
const nameAt = /^\/([^ \t\r\n]*)(?:[ \t]+([^ \t\r\n]+))?/;

/**
 * A text is a command when its first character is a slash, and only then: with a space before it,
 * in a code block, in quotes or further down, it is ordinary text.
 */
function isCommand(text: string): boolean {
  return text.startsWith("/");
}

/**
 * Decides by the text alone: the same text always gives the same command or the same usage error,
 * and nothing is guessed. Words are parted by spaces and tabs; quotes mean nothing; a command is one
 * line, unless it takes raw text.
 */
export function parseCommand(text: string): ParsedCommand | UsageError {
  if (!isCommand(text)) return { usage: "A command begins with a slash: /agents" };
  const [head = "", first = "", second = ""] = nameAt.exec(text) ?? [];
  const pair = find(`${first} ${second}`);
  const command = pair ?? (second === "" || !isFamily(first) ? find(first) : undefined);
  if (command === undefined) return unknownCommand(first, second);
  const { name } = command;
  const after = text.slice(pair === undefined ? first.length + 1 : head.length);
  const rest = command.takesRawText ? after.slice(1) : trimBlanks(after.slice(0, maximumLine));
  const problem = command.takesRawText ? rawProblem(rest) : lineProblem(rest, after.length);
  if (problem !== undefined) return usageError(command, problem);
  const given = command.parse(rest);
  return "problem" in given ? usageError(command, given.problem) : { name, given };
}

export function commandOf({ name }: ParsedCommand): AnyCommand {
  const command = find(name);
  if (command === undefined) throw new TypeError(`no command is called ${name}`);
  return command;
}

function find(name: string): AnyCommand | undefined {
  return commandTable.find((command) => command.name === name);
}

function isFamily(first: string): boolean {
  return commandTable.some(({ name }) => name.startsWith(`${first} `));
}

/** Only ever of a line that is not too long: in a megabyte of blanks it would search for hours. */
function trimBlanks(line: string): string {
  return line.replace(/^[ \t]+|[ \t\r\n]+$/g, "");
}

function lineProblem(rest: string, length: number): string | undefined {
  if (length > maximumLine) return `It is longer than ${maximumLine} characters.`;
  if (/[\r\n]/.test(rest)) return "It has more than one line.";
  const hidden = findHiddenCharacter(rest.replaceAll("\t", " "));
  return hidden === undefined ? undefined : `It contains ${hidden}, which nobody would see.`;
}

function rawProblem(rest: string): string | undefined {
  if (rest.trim() === "") return "There is nothing to apply.";
  return rest.length > maximumRawText ? "It is larger than 1 MB." : undefined;
}

function usageError(command: AnyCommand, problem: string): UsageError {
  return { usage: `${problem}\nUsage: ${usageOf(command)}`, name: command.name };
}

function unknownCommand(first: string, second: string): UsageError {
  const family = commandTable.filter(({ name }) => name.startsWith(`${first} `));
  if (family.length > 0) {
    const words = family.map(({ name }) => name.slice(first.length + 1));
    const nearest = nearestKey(second, words);
    const hint = nearest ? `Did you mean /${first} ${nearest}?` : `There are: ${words.join(", ")}.`;
    return { usage: `There is no command ${quote(`/${first} ${second}`)}. ${hint}` };
  }
  const words = [...new Set(commandTable.map(({ name }) => name.split(" ")[0] ?? name))];
  const nearest = nearestKey(first, words);
  const known = words.map((word) => `/${word}`).join(", ");
  const hint = nearest ? `Did you mean /${nearest}?` : `There are: ${known}.`;
  return { usage: `There is no command ${quote(`/${first}`)}. ${hint}` };
}
