import { hash } from "node:crypto";
import type { IdempotencyStore, KeptReply, RequestKey } from "../../ports/store.ts";
import { HttpProblem } from "./problem.ts";

export const keptForMs = 24 * 3_600_000;

export interface OnceRequest {
  readonly principal: string;
  readonly key: string;
  readonly method: string;
  /** The path with its query. */
  readonly target: string;
  readonly body: Uint8Array;
}

export interface Outcome {
  readonly reply: KeptReply;
  /**
   * What becomes of the key. "keep": every repetition is answered alike. "free": it was the
   * caller's mistake, and nothing has happened. "leave": the server stops in the middle of it, and
   * how far it came is to be seen.
   */
  readonly key: "keep" | "free" | "leave";
}

export interface OnceParts {
  readonly store: IdempotencyStore;
  readonly now: () => number;
  readonly log: (line: string) => void;
}

/** The key of a request, from its header. */
export function idempotencyKeyOf(request: Request): string | undefined {
  const key = request.headers.get("idempotency-key");
  if (key === null) return undefined;
  if (/^[\x20-\x7e]{1,255}$/.test(key)) return key;
  throw new HttpProblem("request-invalid", '"Idempotency-Key" has 1 to 255 printable characters.');
}

/**
 * Does what was asked, or gives what it was answered with when it was asked before. A request that
 * was refused leaves its key free; one that failed in here keeps it, because part of it may have
 * happened, and is answered the same way again.
 */
export async function doOnce(
  request: OnceRequest,
  { store, now, log }: OnceParts,
  act: () => Promise<Outcome>,
): Promise<{ readonly reply: KeptReply; readonly isReplay: boolean }> {
  const key: RequestKey = { principal: request.principal, key: request.key };
  const fingerprint = fingerprintOf(request);
  const standing = await store.begin({ ...key, fingerprint }, now() - keptForMs);
  switch (standing.is) {
    case "finished":
      return { reply: standing.reply, isReplay: true };
    case "taken":
      throw new HttpProblem(
        "key-reused",
        "Another request was made under this idempotency key. Take a new key for a new request.",
      );
    case "running":
      throw new HttpProblem(
        "request-running",
        "The first request under this idempotency key is still running. Ask again when it is done.",
        { headers: { "retry-after": "1" } },
      );
    case "unknown":
      throw new HttpProblem(
        "outcome-unknown",
        "The server ended before it had answered the first request under this idempotency key. Whether it was done is to be seen: GET /api/v1/runs and /api/v1/inbox show what there is. To do it again, take a new key.",
      );
    case "begun":
      break;
    default:
      return standing satisfies never;
  }
  const { reply, key: becomes } = await act();
  try {
    if (becomes === "free") await store.abandon(key);
    if (becomes === "keep") await store.finish(key, reply);
  } catch (error) {
    // It is done all the same, and this client learns of it; whoever asks again learns less.
    log(`mandate serve: a reply could not be kept: ${String(error)}`);
  }
  return { reply, isReplay: false };
}

function fingerprintOf({ method, target, body }: OnceRequest): string {
  return hash("sha256", Buffer.concat([Buffer.from(`${method} ${target}\n`), body]));
}
