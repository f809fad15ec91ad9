import { MandateError, type MandateErrorCode } from "../ports/mandate-error.ts";
import type { CommandContext } from "./command.ts";
import { describeForLog } from "./describe-for-log.ts";
import { commandOf, parseCommand } from "./parse-command.ts";
import { commandsWith } from "./profile-words.ts";
import { requireUserText, type UserText } from "./user-text.ts";

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
