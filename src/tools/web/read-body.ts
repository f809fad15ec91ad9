import type { IncomingMessage } from "node:http";
import { pipeline, type Readable, type Transform } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { FetchFailure } from "./fetch-failure.ts";

export interface Body {
  readonly bytes: Buffer;
  /** There was more. */
  readonly isCut: boolean;
}

const decoders: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  "x-gzip": createGunzip,
  br: createBrotliDecompress,
  deflate: createInflate,
};

/**
 * The reply's body, unpacked, up to `maxBytes`. Counted while it is unpacked, so that a small reply
 * which unpacks to a large one is stopped on the way; what is sent is counted as well, because a
 * reply can be endless and unpack to nothing.
 */
export async function readBody(response: IncomingMessage, maxBytes: number): Promise<Body> {
  const source = unpack(response, maxBytes);
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of source as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      length += chunk.length;
      if (length > maxBytes) break;
    }
  } finally {
    source.destroy();
    response.destroy();
  }
  const isCut = length > maxBytes;
  return { bytes: Buffer.concat(chunks).subarray(0, maxBytes), isCut };
}

function unpack(response: IncomingMessage, maxBytes: number): Readable {
  const encoding = (response.headers["content-encoding"] ?? "identity").trim().toLowerCase();
  if (encoding === "identity" || encoding === "") return response;
  const make = Object.hasOwn(decoders, encoding) ? decoders[encoding] : undefined;
  if (make === undefined) {
    throw new FetchFailure("The reply is packed in a way that was not asked for.");
  }
  const decoder = make();
  let sent = 0;
  response.on("data", (chunk: Buffer) => {
    sent += chunk.length;
    if (sent > maxBytes + 65_536) decoder.destroy(new FetchFailure("The reply does not end."));
  });
  // Whoever reads from the decoder hears of errors on both sides there.
  pipeline(response, decoder, () => undefined);
  return decoder;
}
