import { parseArgs } from "node:util";
import { nearestKey } from "../../agents/documents/nearest-key.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { Io } from "./io.ts";

/** A command of the command line. It is loaded when it is called, so that no command pays for another. */
export interface Command {
  readonly name: string;
  /** What follows the name, for people: `[options] TASK`. */
  readonly usage: string;
  /** What the command does, in sentences; shown by `--help`. */
  readonly about: string;
  readonly options: Readonly<Record<string, CommandOption>>;
  /** How many words may follow (absent: none); where some must, what they are, and where to find them. */
  readonly words?:
    | { readonly least: 0; readonly most: number; readonly mayBeEmpty?: true }
    | { readonly least: number; readonly most: number; readonly needs: string };
  readonly examples?: readonly string[];
  /** Gives the exit code. A wrong call is thrown as a MandateError. */
  run(given: Arguments, io: Io): Promise<number>;
}

export type CommandOption = {
  readonly help: string;
  readonly short?: string;
  /** An older name: accepted, and not shown in help. */
  readonly isAlias?: true;
} & (
  | { readonly type: "flag" }
  /** `--name` or `--name=VALUE`: the first means `implied`. */
  | { readonly type: "optional"; readonly value: string; readonly implied: string }
  | { readonly type: "text"; readonly value: string }
);

/** Words of a text, of which any may be empty. */
export const anyWords = { least: 0, most: Number.POSITIVE_INFINITY, mayBeEmpty: true } as const;

export function flag(help: string, short?: string): CommandOption {
  return { type: "flag", help, ...(short !== undefined && { short }) };
}

export function text(value: string, help: string, short?: string): CommandOption {
  return { type: "text", value, help, ...(short !== undefined && { short }) };
}

export const jsonOption = flag("print one JSON document");

/** The options that help shows, each as a person types it: `--profile NAME`, with its short form. */
export function shownOptions({ options }: Command) {
  return Object.entries(options)
    .filter(([, { isAlias }]) => isAlias !== true)
    .map(([name, option]) => {
      const value = {
        flag: "",
        text: ` ${placeholderOf(option)}`,
        optional: `[=${placeholderOf(option)}]`,
      };
      const { help, short } = option;
      return { form: `--${name}${value[option.type]}`, short, help };
    });
}

function placeholderOf(option: CommandOption): string {
  return option.type === "flag" ? "" : option.value;
}

/** What a command's first word chooses: `list` of `memory list`, which is also what no word means. */
export function chosenFrom<Value>(
  command: string,
  table: Readonly<Record<string, Value>>,
  word = "list",
): Value {
  const name = word === "ls" ? "list" : word;
  const value = Object.hasOwn(table, name) ? table[name] : undefined;
  if (value !== undefined) return value;
  const known = Object.keys(table).join(", ");
  const unknown = JSON.stringify(word.slice(0, 40));
  throw new MandateError("usage", `${command} knows ${known}; it does not know ${unknown}.`);
}

/** The words and options after a command's name, checked against what the command takes. */
export class Arguments {
  readonly words: readonly string[];
  readonly #flags: ReadonlySet<string>;
  readonly #texts: ReadonlyMap<string, readonly string[]>;

  constructor(
    words: readonly string[],
    flags: ReadonlySet<string>,
    texts: ReadonlyMap<string, readonly string[]>,
  ) {
    this.words = words;
    this.#flags = flags;
    this.#texts = texts;
  }

  flag(name: string): boolean {
    return this.#flags.has(name);
  }

  /** The last value, when the option was given more than once. */
  text(name: string): string | undefined {
    return this.texts(name).at(-1);
  }

  /** All values of an option that may be given several times. */
  texts(name: string): readonly string[] {
    return this.#texts.get(name) ?? [];
  }

  /** A positive whole number. */
  count(name: string): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const number = /^[0-9]{1,15}$/.test(text) ? Number(text) : 0;
    if (number > 0) return number;
    throw new MandateError("usage", `--${name} takes a positive whole number; it is "${text}".`);
  }

  /** Dollars, from `2`, `0.50` or `$3`. */
  dollars(name: string): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const dollars = Number(/^\$?(\d{1,9}(?:\.\d{1,9})?)$/.exec(text)?.[1] ?? 0);
    if (dollars > 0) return dollars;
    throw new MandateError("usage", `--${name} takes US dollars, such as 2.50; it is "${text}".`);
  }

  /** Milliseconds, from `90s`, `5m`, `1h`, `500ms`. A bare number is refused: its unit would be a guess. */
  duration(name: string): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const [, number = "", unit = ""] = /^(\d{1,10}(?:\.\d+)?)(ms|s|m|min|h)$/.exec(text) ?? [];
    const ms = Math.round(Number(number) * (units[unit] ?? 0));
    if (number !== "" && ms > 0 && ms < 2 ** 31) return ms;
    const takes = "a time with its unit, such as 90s, 5m or 1h";
    throw new MandateError("usage", `--${name} takes ${takes}; it is "${text}".`);
  }
}

const units: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
};

const help = flag("say what this command takes", "h");

/** `program`: how a person types the program's name, for the sentence about a wrong call. */
export function parseArguments(
  command: Command,
  typed: readonly string[],
  program = "mandate",
): Arguments {
  const usage = (problem: string): MandateError => {
    const form = `${program} ${command.name} ${command.usage}`.trimEnd();
    return new MandateError("usage", `${problem}\nUsage: ${form}`);
  };
  const known: Readonly<Record<string, CommandOption>> = { ...command.options, help };
  const { tokens } = parseArgs({
    args: [...typed],
    strict: false,
    tokens: true,
    allowPositionals: true,
    options: Object.fromEntries(
      Object.entries(known).map(([name, { type, short }]) => [
        name,
        {
          type: type === "text" ? ("string" as const) : ("boolean" as const),
          ...(short && { short }),
        },
      ]),
    ),
  });
  const words: string[] = [];
  const flags = new Set<string>();
  const texts = new Map<string, string[]>();
  for (const token of tokens) {
    if (token.kind === "positional") words.push(token.value);
    if (token.kind !== "option") continue;
    const option = Object.hasOwn(known, token.name) ? known[token.name] : undefined;
    if (option === undefined) throw usage(unknownOption(token.rawName, Object.keys(known)));
    if (option.type === "flag") {
      if (token.value !== undefined) throw usage(`${token.rawName} takes no value.`);
      flags.add(token.name);
    } else if (option.type === "optional") {
      texts.set(token.name, [...(texts.get(token.name) ?? []), token.value ?? option.implied]);
    } else {
      // «--profile --json» is a forgotten value rather than a profile called --json.
      const isForgotten = token.inlineValue !== true && token.value?.startsWith("-") === true;
      if (!token.value || isForgotten) {
        const remedy = isForgotten
          ? ` A value that begins with a dash is written ${token.rawName}=VALUE.`
          : "";
        throw usage(`${token.rawName} needs a value: ${token.rawName} ${option.value}.${remedy}`);
      }
      texts.set(token.name, [...(texts.get(token.name) ?? []), token.value]);
    }
  }
  const problem = flags.has("help") ? undefined : problemOfWords(command, words);
  if (problem !== undefined) throw usage(problem);
  return new Arguments(words, flags, texts);
}

function problemOfWords(command: Command, typed: readonly string[]): string | undefined {
  const { words = { least: 0, most: 0 } } = command;
  const given = typed.length;
  if ("needs" in words && given < words.least) return `${command.name} needs ${words.needs}.`;
  if (given > words.most) return `That is ${given - words.most} word(s) too many.`;
  // An empty path would be the current folder.
  const isUnset = !("mayBeEmpty" in words) && typed.some((word) => word.trim() === "");
  return isUnset ? "One of the words is empty; a variable may not be set." : undefined;
}

function unknownOption(name: string, known: readonly string[]): string {
  const nearest = nearestKey(name.replace(/^-+/, ""), known);
  return `There is no option ${name}.${nearest === undefined ? "" : ` Did you mean --${nearest}?`}`;
}
