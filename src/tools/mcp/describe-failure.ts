import { MandateError } from "../../ports/mandate-error.ts";
import { messageOf } from "../../ports/message-of.ts";
import type { Redact } from "../../ports/redact-secrets.ts";
import { cleanLine, cleanText } from "./clean-text.ts";

export interface FailureContext {
  readonly timeoutMs: number;
  /** Hides values that no sentence may quote. */
  readonly hide: Redact;
  /** How its process ended, where it has one and that is over. */
  readonly ended: string | null;
  /** What it said before. */
  readonly lastWords: string;
}

/** What went wrong with a server, as words that follow its name and end in a full stop. */
export function describeFailure(error: unknown, context: FailureContext): string {
  return `${verdict(error, context).replace(/[.\s]+$/, "")}.${quoteLastWords(context)}`;
}

function verdict(error: unknown, context: FailureContext): string {
  const code = fieldOf(error, "code");
  const status = fieldOf(fieldOf(error, "data"), "status");
  const safe = (text: string) => cleanLine(context.hide(text), 500);
  if (typeof status === "number") {
    if (status >= 300 && status < 400) return "redirects to another place, which is not followed";
    if (status === 401 || status === 403) return `refused us (HTTP ${status}); check its headers`;
    const body = fieldOf(fieldOf(error, "data"), "text");
    const said = typeof body === "string" ? safe(body.slice(0, 2000)) : "";
    return said === "" ? `answered with HTTP ${status}` : `answered with HTTP ${status}: ${said}`;
  }
  if (code === "REQUEST_TIMEOUT") return `did not answer within ${context.timeoutMs} ms`;
  if (code === "UNSUPPORTED_RESULT_TYPE") {
    return "asked for input in the middle of a call, which agents cannot give";
  }
  if (typeof code === "number") return `answered: ${safe(messageOf(error)) || `error ${code}`}`;
  if (error instanceof MandateError) return `cannot be started: ${safe(messageOf(error))}`;
  if (context.ended !== null) return context.ended;
  const system = systemCode(error);
  if (system === "ENOENT") return "cannot be started: its command or its folder does not exist";
  if (system === "EACCES") return "cannot be started: its command may not be executed";
  if (system !== undefined) return `cannot be reached (${system})`;
  if (code === "CONNECTION_CLOSED") return "closed the connection";
  return `failed: ${safe(messageOf(error)) || "it did not say why"}`;
}

function quoteLastWords({ lastWords, hide }: FailureContext): string {
  const lines = cleanText(hide(lastWords), 16_384)
    .split("\n")
    .map((line) => cleanLine(line, 200))
    .filter((line) => line !== "");
  return lines.length === 0 ? "" : ` It said: ${lines.slice(-5).join(" | ")}`;
}

/** The code of the system's error, however deep the libraries have wrapped it. */
function systemCode(error: unknown): string | undefined {
  let inner = error;
  for (let depth = 0; depth < 5 && inner !== undefined && inner !== null; depth++) {
    const code = fieldOf(inner, "code");
    if (typeof code === "string" && /^(?:E[A-Z]+|UND_ERR_[A-Z_]+|CERT_[A-Z_]+)$/.test(code)) {
      return code;
    }
    inner = fieldOf(inner, "cause") ?? fieldOf(fieldOf(inner, "data"), "cause");
  }
  return undefined;
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null && name in value
    ? (value as Record<string, unknown>)[name]
    : undefined;
}
