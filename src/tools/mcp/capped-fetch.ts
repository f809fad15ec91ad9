import type { FetchLike } from "@modelcontextprotocol/client";
import { longestMessage } from "./server-process.ts";

/**
 * Fetch with a bound on what comes back, counted while it arrives. The standing stream, on which a
 * server could say what nobody asked for, is not opened: this answers for the server that it has
 * none. Resuming the reply to a request is let through.
 */
export function cappedFetch(maxBytes: number = longestMessage): FetchLike {
  return async (url, init) => {
    const headers = new Headers(init?.headers);
    if (init?.method === "GET" && !headers.has("last-event-id")) {
      return new Response(null, { status: 405 });
    }
    const response = await fetch(url, init);
    const { body } = response;
    if (body === null || response.type === "opaqueredirect") return response;
    if (Number(response.headers.get("content-length")) > maxBytes) {
      await body.cancel();
      throw tooLarge(maxBytes);
    }
    let bytes = 0;
    const counted = body.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          bytes += chunk.byteLength;
          if (bytes > maxBytes) controller.error(tooLarge(maxBytes));
          else controller.enqueue(chunk);
        },
      }),
    );
    const { status, statusText } = response;
    return new Response(counted, { status, statusText, headers: response.headers });
  };
}

function tooLarge(maxBytes: number): Error {
  return new Error(`it sent more than ${maxBytes / 1024 / 1024} MB in one reply`);
}
