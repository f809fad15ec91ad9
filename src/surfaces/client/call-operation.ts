import { MandateApiError, readProblem } from "./mandate-api-error.ts";
import type { OperationPlace } from "./operation-places.ts";
import { pause } from "./pause.ts";

/** Where a server is, and as whom to speak to it. */
export interface Connection {
  /** Without a path: `http://127.0.0.1:4747`. */
  readonly url: string;
  readonly token: string | undefined;
  readonly fetch: typeof fetch;
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Of a POST: what was done once under this key is not done again. Made up unless given. */
  readonly idempotencyKey?: string | undefined;
}

type Input = Readonly<Record<string, unknown>>;

const mostTries = 4;
const firstPauseMs = 200;
const longestPauseMs = 5000;

/**
 * Asks a server for one operation. What may have been lost on the way is asked for again where that
 * does nothing twice: reading, and what is sent under an idempotency key.
 */
export async function callOperation(
  connection: Connection,
  place: OperationPlace,
  input: Input,
  options: CallOptions,
): Promise<unknown> {
  const { path, rest } = fillPath(place.path, input);
  const query = place.takesBody ? "" : queryOf(rest);
  const key = keyFor(place, options);
  const { signal } = options;
  const request: RequestInit = {
    method: place.method,
    headers: {
      ...headersOf(connection),
      ...(place.takesBody && { "content-type": "application/json" }),
      ...(key !== undefined && { "idempotency-key": key }),
    },
    ...(place.takesBody && { body: JSON.stringify(rest) }),
    ...(signal && { signal }),
  };
  const isRepeatable = place.method === "GET" || key !== undefined;
  for (let tries = 1; ; tries++) {
    try {
      return await ask(connection, `${path}${query}`, request);
    } catch (error) {
      const isOver = tries === mostTries || signal?.aborted === true;
      if (isOver || !(isRefusedForNow(error) || (isRepeatable && isLost(error)))) throw error;
    }
    await pause(Math.min(firstPauseMs * 2 ** (tries - 1), longestPauseMs), signal);
  }
}

async function ask(connection: Connection, target: string, request: RequestInit) {
  const response = await connection.fetch(`${connection.url}/api/v1${target}`, request);
  if (!response.ok) throw await readProblem(response);
  const text = await response.text();
  return text === "" ? null : (JSON.parse(text) as unknown);
}

export function headersOf({ token }: Connection): Readonly<Record<string, string>> {
  return {
    accept: "application/json",
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  };
}

/** Nothing was done: it came too fast, or the same request is still being worked on. */
function isRefusedForNow(error: unknown): boolean {
  return (
    error instanceof MandateApiError &&
    ["too-many-requests", "request-running"].includes(error.code)
  );
}

/** Nobody knows whether it was done. */
function isLost(error: unknown): boolean {
  return error instanceof MandateApiError ? [502, 503, 504].includes(error.status) : true;
}

function keyFor(place: OperationPlace, { idempotencyKey }: CallOptions): string | undefined {
  if (place.method !== "POST" || place.isSecret) return undefined;
  if (idempotencyKey !== undefined) return idempotencyKey;
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function fillPath(path: string, input: Input): { readonly path: string; readonly rest: Input } {
  const rest = { ...input };
  const filled = path.replaceAll(/:(\w+)/g, (_, name: string) => {
    const value = rest[name];
    delete rest[name];
    if (typeof value === "string" && value !== "") return encodeURIComponent(value);
    throw new TypeError(`"${name}" is missing.`);
  });
  return { path: filled, rest };
}

export function queryOf(input: Input): string {
  const said = new URLSearchParams();
  for (const [name, value] of Object.entries(input)) {
    if (value !== undefined) said.set(name, String(value));
  }
  return said.size === 0 ? "" : `?${said}`;
}
