import type { IncomingMessage } from "node:http";

/** Conversations with pictures are large; the providers themselves accept no more. */
const mostBytes = 32 * 1024 * 1024;
/** Nested deeper than any schema of a tool. */
const deepest = 200;

/** Why a body is not read. */
export class RefusedBody extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.name = "RefusedBody";
    this.status = status;
  }
}

/**
 * Reads a request of a program as JSON. What is checked is what is sent: the provider gets the parsed
 * value written again, so that a key that is given twice has one meaning.
 */
export async function readProgramBody(request: IncomingMessage): Promise<unknown> {
  const { headers } = request;
  const encoding = headers["content-encoding"]?.toLowerCase() ?? "identity";
  // The limit counts received bytes, which says nothing about compressed data.
  if (encoding !== "identity") throw new RefusedBody(415, "The body must not be compressed.");
  const type = headers["content-type"] ?? "";
  if (!/^application\/json(?: *; *charset="?utf-8"?)?$/i.test(type.trim())) {
    throw new RefusedBody(415, "The body must be application/json.");
  }
  if (Number(headers["content-length"] ?? 0) > mostBytes) throw tooLarge();
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > mostBytes) throw tooLarge();
    chunks.push(chunk);
  }
  return parse(Buffer.concat(chunks));
}

function tooLarge(): RefusedBody {
  return new RefusedBody(413, `The body must not be larger than ${mostBytes / 1024 / 1024} MB.`);
}

function parse(bytes: Buffer): unknown {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new RefusedBody(400, "The body is not UTF-8.");
  }
  if (depthOf(text) > deepest) throw new RefusedBody(400, "The body is nested too deep.");
  try {
    return JSON.parse(text);
  } catch {
    throw new RefusedBody(400, "The body is not JSON.");
  }
}

function depthOf(json: string): number {
  let depth = 0;
  let most = 0;
  let isText = false;
  for (let index = 0; index < json.length; index++) {
    const code = json.charCodeAt(index);
    if (isText) {
      if (code === backslash) index++;
      else if (code === quote) isText = false;
    } else if (code === quote) isText = true;
    else if (code === openBrace || code === openBracket) most = Math.max(most, ++depth);
    else if (code === closeBrace || code === closeBracket) depth--;
  }
  return most;
}

const [backslash, quote] = [0x5c, 0x22];
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d];
