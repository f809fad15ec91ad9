/**
 * application/ owns what surfaces share: slash commands, and services over a runtime and a store.
 * It may import every folder but stores and surfaces.
 */
import type { Principal } from "../../control/records/principal.ts";
import { sha256 } from "../../events/hash-chain.ts";
import { MandateError, type MandateErrorCode } from "../../ports/mandate-error.ts";
import { redactSecrets } from "../../ports/redact-secrets.ts";
import { clip, oneLine } from "../../text.ts";
import type { AnyCommand, CommandContext } from "./command.ts";
import { commandOf, type ParsedCommand, parseCommand, type UsageError } from "./parse-command.ts";
import { commandsWith } from "./profile-triggers.ts";

export type CommandReply =
  | { readonly ok: true; readonly reply: string; readonly data: unknown }
  | { readonly ok: false; readonly reply: string; readonly code: MandateErrorCode };

/**
 * Executes what a person typed, and returns the reply. Every outcome is logged before the reply,
 * also a refusal or a text that is no command.
 */
export async function executeCommand(
  said: UserText,
  context: CommandContext,
): Promise<CommandReply> {
  requireUserText(said);
  const { text, principal } = said;
  const commands = commandsWith(context.profiles());
  const parsed = parseCommand(text, commands, context.otherWords);
  const note = (outcome: string) =>
    context.controlPlane.noteCommand(describeForLog(text, parsed, commands), principal, outcome);
  if ("usage" in parsed) {
    await note("usage");
    return { ok: false, reply: parsed.usage, code: "usage" };
  }
  try {
    const command = commandOf(parsed, commands);
    const scope = { ...context, commands };
    const { reply, data } = await command.execute(parsed.given, scope, principal);
    await note("done");
    return { ok: true, reply, data: data ?? null };
  } catch (error) {
    const code = error instanceof MandateError ? error.code : undefined;
    await note(code === "refused-by-policy" ? "refused" : (code ?? "failed"));
    if (!(error instanceof MandateError)) throw error;
    return { ok: false, reply: error.message, code: error.code };
  }
}

const maximumLength = 500;

/**
 * The logged form of a command. Raw text is logged by size and hash, since it may contain a pasted
 * secret; of an unknown command only the name is logged.
 */
function describeForLog(
  text: string,
  parsed: ParsedCommand | UsageError,
  commands?: readonly AnyCommand[],
): string {
  if ("usage" in parsed) return parsed.name === undefined ? "/?" : `/${parsed.name} ?`;
  const { takesLines, takesRawText } = commandOf(parsed, commands);
  if (takesRawText) {
    return `/${parsed.name} (${text.length} characters, SHA-256 ${sha256(text)})`;
  }
  const redacted = redactSecrets(text.trimEnd(), []);
  const line = takesLines ? oneLine(redacted) : redacted;
  return clip(line, maximumLength);
}

declare const provenance: unique symbol;

/**
 * Text that an authenticated person typed, with the principal. Only this type can be executed as a
 * command, and only `fromUser` creates it: the reply of a model, the output of a tool, the result
 * of a child, a task or a file is a plain string. Surfaces call `fromUser` where they receive
 * input, and nowhere else; the folders that run agents cannot import this module.
 */
export interface UserText {
  readonly text: string;
  readonly principal: Principal;
  readonly [provenance]: "user";
}

/** Types do not exist at run time: this set rejects casts and parsed JSON. */
const made = new WeakSet<UserText>();

export function fromUser(text: string, principal: Principal): UserText {
  const said = Object.freeze({ text, principal: Object.freeze({ ...principal }) }) as UserText;
  made.add(said);
  return said;
}

function requireUserText(said: UserText): void {
  if (made.has(said)) return;
  throw new MandateError("refused-by-policy", "Only text that a user typed can be a command.");
}
