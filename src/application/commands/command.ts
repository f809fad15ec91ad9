import type { Profile } from "../../agents/profiles/profile.ts";
import type { ControlPlane } from "../../control/records/control-plane.ts";
import type { PinContext } from "../../control/records/pins.ts";
import type { Principal } from "../../control/records/principal.ts";
import type { Steering } from "../steering.ts";

/** What commands work on; the same for every surface. */
export interface CommandContext {
  readonly controlPlane: ControlPlane;
  /** Session, user and workspace in which the person spoke: their own, by the surface's word. */
  readonly pinContext: PinContext;
  /** What replies say about a profile; undefined when no profile has this id. */
  describeProfile(profileId: string): ProfileSummary | undefined;
  /** Every profile that can be used now; each may bring words of its own. */
  profiles(): readonly Profile[];
  readonly steering: Steering;
}

/** The same while a command is executed. */
export interface ExecutionContext extends CommandContext {
  /** All that there are at the moment, with the words that profiles bring. */
  readonly commands: readonly AnyCommand[];
}

export interface ProfileSummary {
  /** `provider/model`; absent when none is chosen yet. */
  readonly model?: string | undefined;
  /** The skills and servers that its agents have when a caller can hand on all of them. */
  readonly skills?: readonly string[];
  readonly servers?: readonly string[];
}

/** What a command says when it worked. The reply is fixed text: no model rewords it. */
export interface CommandResult {
  readonly reply: string;
  /** The same for programs, as JSON. */
  readonly data?: unknown;
}

/** Why a text is not a command of this form. */
export interface UsageProblem {
  readonly problem: string;
}

/** What can stand in a place of a command, for surfaces that complete what is typed. */
export type ArgumentKind =
  | "agent"
  | "ask"
  | "command"
  | "handle"
  | "open"
  | "run"
  | { readonly words: readonly string[] };

/** One command. Refusals are thrown as MandateErrors, whose sentences are the fixed replies. */
export interface CommandDefinition<Given extends object> {
  /** After the slash: `agents register`. */
  readonly name: string;
  /** What follows the name, for people. */
  readonly form: string;
  readonly about: string;
  /** Everything after the first white space belongs to the command, byte for byte. */
  readonly takesRawText?: true;
  /** What follows the name may have several lines, which are those of a task or an answer. */
  readonly takesLines?: true;
  /** The one profile that it starts. */
  readonly profile?: string;
  /** What its words are, one after the other. */
  readonly completes?: readonly ArgumentKind[];
  /** Decides by the text alone. */
  parse(rest: string): Given | UsageProblem;
  execute(given: Given, context: ExecutionContext, principal: Principal): Promise<CommandResult>;
}

/** A command among others: what it was given is its own business. */
export type AnyCommand = CommandDefinition<object>;

export function defineCommand<Given extends object>(command: CommandDefinition<Given>): AnyCommand {
  // Only what the command's own `parse` returned is ever handed to its `execute`.
  return command as unknown as AnyCommand;
}

export function usageOf({ name, form }: Pick<AnyCommand, "name" | "form">): string {
  return `/${name} ${form}`.trimEnd();
}
