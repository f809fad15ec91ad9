import { type Clock, timeoutSignal } from "../../ports/clock.ts";
import { messageOf } from "../../ports/message-of.ts";
import { hideValues } from "../mcp/hide-values.ts";
import { FetchFailure } from "./fetch-failure.ts";
import { describeRetryAfter } from "./retry-after.ts";

export interface JsonQuestion {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent as JSON, by POST; absent: GET. */
  readonly body?: unknown;
  /** Must not be seen in anything that comes of it. */
  readonly secrets: readonly string[];
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

const maxBytes = 2 * 1024 * 1024;
const timeMs = 15_000;

/** One question to a service of the operator. Redirects are not followed, so that keys stay. */
export async function askJson(question: JsonQuestion): Promise<unknown> {
  const { url, body, secrets, signal, clock } = question;
  const timeout = timeoutSignal(clock, timeMs);
  try {
    const response = await fetch(url, {
      method: body === undefined ? "GET" : "POST",
      headers: {
        accept: "application/json",
        ...(body !== undefined && { "content-type": "application/json" }),
        ...question.headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      redirect: "error",
      signal: AbortSignal.any([signal, timeout]),
    });
    const text = await readText(response);
    if (response.ok) return JSON.parse(text);
    const retry = describeRetryAfter(response.headers.get("retry-after") ?? undefined, clock.now());
    throw new FetchFailure(`The search service answered ${response.status}. ${retry}`.trim());
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof FetchFailure) throw error;
    const why = timeout.aborted ? `no answer in ${timeMs / 1000} s` : reasonOf(error);
    // The cause is left behind: it can hold the request, and that the key.
    throw new FetchFailure(`The search service could not be asked: ${hideValues(secrets)(why)}.`);
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof SyntaxError) return "its answer is not JSON";
  const code = (error as { cause?: { code?: unknown } } | undefined)?.cause?.code;
  return typeof code === "string" ? code : messageOf(error);
}

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    length += chunk.length;
    if (length > maxBytes) throw new FetchFailure("The answer of the search service is too large.");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
