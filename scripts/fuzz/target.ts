import type { Arbitrary } from "fast-check";

/** What is fuzzed together: a row of inputs that strangers can write. */
export type Surface =
  | "profiles"
  | "config"
  | "registry"
  | "commands"
  | "tools"
  | "shell"
  | "mcp"
  | "http"
  | "models"
  | "git"
  | "log"
  | "terminal"
  | "page"
  | "documents";

/**
 * One reader of what strangers write. `check` throws when something does not hold for an input;
 * besides, no case may take longer than `caseMs`, leave a rejection that nobody handles, or change
 * what every object inherits.
 */
export interface Target<Input = unknown> {
  readonly name: string;
  readonly surface: Surface;
  /** What must hold, as a sentence for people. */
  readonly promise: string;
  /** The most work that one case may be, by the processor; a second unless told. */
  readonly caseMs?: number;
  /** Cases of a short run; 200 unless told. */
  readonly cases?: number;
  open(): Promise<OpenTarget<Input>> | OpenTarget<Input>;
}

export interface OpenTarget<Input> {
  readonly inputs: Arbitrary<Input>;
  check(input: Input): void | Promise<void>;
  /** Why nothing can be tried on this machine. */
  readonly skipped?: string;
  close?(): void | PromiseLike<void>;
}

/** Keeps the type of the inputs; whoever runs targets need not know it. */
export function defineTarget<Input>(target: Target<Input>): Target {
  return target as unknown as Target;
}
