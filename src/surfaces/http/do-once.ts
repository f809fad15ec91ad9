import { hash } from "node:crypto";
import type { IdempotencyStore, KeptReply, RequestKey } from "../../ports/store.ts";
import { HttpProblem } from "./problem.ts";

const keptForMs = 24 * 3_600_000;

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
   * What happens to the key. "keep": every repetition gets the same reply. "free": the request was
   * refused and changed nothing. "leave": the server stopped during the work, so the outcome is
   * unknown.
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
 * Performs a request once per idempotency key; a repetition gets the stored reply. A refused
 * request frees its key. A request that failed inside the server keeps it, because part of the work
 * may have been done.
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
        "This idempotency key was used for another request. Use a new key for a new request.",
      );
    case "running":
      throw new HttpProblem(
        "request-running",
        "The first request with this idempotency key is still running. Retry later.",
        { headers: { "retry-after": "1" } },
      );
    case "unknown":
      throw new HttpProblem(
        "outcome-unknown",
        "The server stopped before it answered the first request with this idempotency key, so its outcome is unknown. GET /api/v1/runs and /api/v1/inbox show what was done. To send the request again, use a new key.",
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
    // The work is done and this client gets its reply; only a repetition will not.
    log(`mandate serve: a reply could not be stored: ${String(error)}`);
  }
  return { reply, isReplay: false };
}

function fingerprintOf({ method, target, body }: OnceRequest): string {
  return hash("sha256", Buffer.concat([Buffer.from(`${method} ${target}\n`), body]));
}
