import type { Profile } from "../../agents/profiles/profile.ts";
import type { ControlPlane } from "../../control/records/control-plane.ts";
import type { PinContext } from "../../control/records/pins.ts";
import type { Principal } from "../../control/records/principal.ts";
import type { Steering } from "../steering.ts";

/** The context of a command, the same for every surface. */
export interface CommandContext {
  readonly controlPlane: ControlPlane;
  /** Session, user and workspace of the person, as the surface knows them. */
  readonly pinContext: PinContext;
  /** The summary of a profile for replies; undefined for an unknown id. */
  describeProfile(profileId: string): ProfileSummary | undefined;
  /** All usable profiles; each may define commands. */
  profiles(): readonly Profile[];
  readonly steering: Steering;
  /** Words that only this surface has, for suggestions. */
  readonly otherWords?: readonly string[];
}

/** The context while a command is executed. */
export interface ExecutionContext extends CommandContext {
  /** All commands, including those of profiles. */
  readonly commands: readonly AnyCommand[];
}

export interface ProfileSummary {
  /** `provider/model`; absent when no model is chosen yet. */
  readonly model?: string | undefined;
  /** The skills and servers of the profile when the caller can delegate all of them. */
  readonly skills?: readonly string[];
  readonly servers?: readonly string[];
}

/** The result of a command. The reply is fixed text, which no model rewords. */
export interface CommandResult {
  readonly reply: string;
  /** The result for programs, as JSON. */
  readonly data?: unknown;
}

/** The reason why a text is invalid for a command. */
export interface UsageProblem {
  readonly problem: string;
}

/** The kind of an argument, for completion. */
export type ArgumentKind =
  | "agent"
  | "ask"
  | "command"
  | "handle"
  | "open"
  | "run"
  | { readonly words: readonly string[] };

/** A slash command. It refuses by throwing a MandateError, whose message is the reply. */
export interface CommandDefinition<Given extends object> {
  /** The name after the slash: `agents register`. */
  readonly name: string;
  /** The form of the arguments, for people. */
  readonly form: string;
  readonly about: string;
  /** The arguments are everything after the first white space, byte for byte. */
  readonly takesRawText?: true;
  /** The arguments may have several lines, of a task or an answer. */
  readonly takesLines?: true;
  /** The profile that the command starts. */
  readonly profile?: string;
  /** The kinds of its arguments, in order. */
  readonly completes?: readonly ArgumentKind[];
  /** Parses the arguments, by the text alone. */
  parse(rest: string): Given | UsageProblem;
  execute(given: Given, context: ExecutionContext, principal: Principal): Promise<CommandResult>;
}

/** A command in a list, whatever its arguments are. */
export type AnyCommand = CommandDefinition<object>;

export function defineCommand<Given extends object>(command: CommandDefinition<Given>): AnyCommand {
  // Only what the command's own `parse` returned is ever handed to its `execute`.
  return command as unknown as AnyCommand;
}

export function usageOf({ name, form }: Pick<AnyCommand, "name" | "form">): string {
  return `/${name} ${form}`.trimEnd();
}
