import { type Clock, systemClock } from "../../ports/clock.ts";
import { type DocumentReply, type DocumentRequest, documentReply } from "./document-request.ts";
import { type ParserLimits, runParser } from "./parser-process.ts";
import { withParserSlot } from "./parser-slots.ts";

const parserLimits: ParserLimits = {
  timeMs: 20_000,
  memoryBytes: 1024 * 1024 * 1024,
  replyBytes: 4 * 1024 * 1024,
};

/** Text of an untrusted document, read where it can do no harm. */
export async function readDocument(
  request: Omit<DocumentRequest, "patienceMs">,
  document: Uint8Array,
  signal: AbortSignal,
  others: Partial<ParserLimits> = {},
  clock: Clock = systemClock,
): Promise<DocumentReply> {
  const limits = { ...parserLimits, ...others };
  // Early enough to say what was found before the time is up.
  const patienceMs = Math.floor(limits.timeMs * 0.6);
  const line = JSON.stringify({ ...request, patienceMs });
  const end = await withParserSlot(signal, () => runParser(line, document, limits, signal, clock));
  if (end.kind === "reply") return parseReply(end.body);
  return {
    kind: "problem",
    text:
      end.kind === "late"
        ? `Reading the document took more than ${limits.timeMs / 1000} s, so it was stopped.`
        : "The document could not be read: it is damaged, or takes more memory than it may.",
  };
}

function parseReply(body: Buffer): DocumentReply {
  try {
    return documentReply.parse(JSON.parse(body.toString("utf8")));
  } catch {
    return { kind: "problem", text: "The document could not be read." };
  }
}
