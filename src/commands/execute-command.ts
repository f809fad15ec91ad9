import { MandateError, type MandateErrorCode } from "../ports/mandate-error.ts";
import type { CommandContext } from "./command.ts";
import { describeForLog } from "./describe-for-log.ts";
import { commandOf, parseCommand } from "./parse-command.ts";
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
  const parsed = parseCommand(text);
  const note = (outcome: string) =>
    context.controlPlane.noteCommand(describeForLog(text, parsed), principal, outcome);
  if ("usage" in parsed) {
    await note("usage");
    return { ok: false, reply: parsed.usage, code: "usage" };
  }
  try {
    const { reply, data } = await commandOf(parsed).execute(parsed.given, context, principal);
    await note("done");
    return { ok: true, reply, data: data ?? null };
  } catch (error) {
    const code = error instanceof MandateError ? error.code : undefined;
    await note(code === "refused-by-policy" ? "refused" : (code ?? "failed"));
    if (!(error instanceof MandateError)) throw error;
    return { ok: false, reply: error.message, code: error.code };
  }
}
