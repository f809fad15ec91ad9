import { sha256 } from "../events/hash-chain.ts";
import { redactSecrets } from "../ports/redact-secrets.ts";
import { clip, oneLine } from "../text.ts";
import type { AnyCommand } from "./command.ts";
import { commandOf, type ParsedCommand, type UsageError } from "./parse-command.ts";

const maximumLength = 500;

/**
 * What the log keeps of a command. Of raw text the size and the hash, since a document may hold
 * what somebody should not have pasted; of what was no command only its name, since it may be
 * anything.
 */
export function describeForLog(
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
