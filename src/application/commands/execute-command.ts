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
 * What a person typed in, what to answer out. Whatever comes of it, also a refusal or a text that
 * was no command after all, is in the log before the answer is given.
 */
export async function executeCommand(
  said: UserText,
  context: CommandContext,
): Promise<CommandReply> {
  requireUserText(said);
  const { text, principal } = said;
  const commands = commandsWith(context.profiles());
  const parsed = parseCommand(text, commands);
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
 * What the log keeps of a command. Of raw text the size and the hash, since a document may hold
 * what a person pasted by mistake; of what was no command only its name, since it may be
 * anything.
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
 * Text that an authenticated person typed, with who it was. Commands are executed from this type
 * alone, and only `fromUser` makes it: a model's reply, a tool's output, a child's result, a task or
 * a file is a plain string, and no string is a command. Surfaces call `fromUser` where they receive
 * input, and nowhere else; the stages that run agents stand before this one and cannot import it.
 */
export interface UserText {
  readonly text: string;
  readonly principal: Principal;
  readonly [provenance]: "user";
}

/** Types vanish when the code runs; this stays, so that no cast and no JSON makes a user's text. */
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
