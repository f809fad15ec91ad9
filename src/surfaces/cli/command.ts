import type { Arguments } from "./arguments.ts";
import type { Io } from "./io.ts";

/** One word of the command line. Loaded when it is called, so that no command pays for another. */
export interface Command {
  readonly name: string;
  /** What follows the name, for people: `[options] TASK`. */
  readonly usage: string;
  /** What it does, in sentences; shown by `--help`. */
  readonly about: string;
  readonly options: Readonly<Record<string, CommandOption>>;
  /** How many words may follow; where some must, what they are, and where to find them. */
  readonly words:
    | { readonly least: 0; readonly most: number }
    | { readonly least: number; readonly most: number; readonly needs: string };
  readonly examples?: readonly string[];
  /** Gives the exit code. What the caller did wrong is thrown as a MandateError. */
  run(given: Arguments, io: Io): Promise<number>;
}

export type CommandOption =
  | { readonly type: "flag"; readonly help: string; readonly short?: string }
  /** `--name` or `--name=VALUE`: the first means `implied`. */
  | {
      readonly type: "optional";
      readonly value: string;
      readonly implied: string;
      readonly help: string;
      readonly short?: string;
    }
  | {
      readonly type: "text";
      readonly value: string;
      readonly help: string;
      readonly short?: string;
    };

export const jsonOption: CommandOption = { type: "flag", help: "print one JSON document" };
