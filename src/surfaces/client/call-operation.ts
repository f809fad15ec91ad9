import type { OperationPlace } from "./operations.ts";

/** The address of a server, and the credentials. */
export interface Connection {
  /** The address of the server without a path: `http://127.0.0.1:4747`. */
  readonly url: string;
  readonly token: string | undefined;
  readonly fetch: typeof fetch;
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** For POST requests: repeats with the same key are performed once. Default: a random key. */
  readonly idempotencyKey?: string | undefined;
}

type Input = Readonly<Record<string, unknown>>;

const mostTries = 4;
const firstPauseMs = 200;
const longestPauseMs = 5000;

/**
 * Calls one operation of a server. A request that may have been lost is repeated if that is safe:
 * GET requests, and those with an idempotency key.
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

/** The server did nothing: the rate was exceeded, or the same request is still running. */
function isRefusedForNow(error: unknown): boolean {
  return (
    error instanceof MandateApiError &&
    ["too-many-requests", "request-running"].includes(error.code)
  );
}

/** Whether it is unknown that the server performed the request. */
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
    if (typeof value === "number") return String(value);
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

/** An error response of the server (RFC 9457). */
export interface ApiProblem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  /** The message for people. */
  readonly detail: string;
  /** The code for programs: `unknown-run`, `refused-by-policy`. */
  readonly code: string;
  readonly errors?: readonly { readonly field: string; readonly message: string }[];
  /** The current record, when a write expected an older version. */
  readonly current?: { readonly version: number; readonly value: unknown };
  readonly instance?: string;
}

/** The server answered with an error. Network failures are thrown unchanged. */
export class MandateApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly problem: ApiProblem;

  constructor(problem: ApiProblem) {
    super(problem.detail);
    this.name = "MandateApiError";
    this.status = problem.status;
    this.code = problem.code;
    this.problem = problem;
  }
}

/** Reads the error of any response, also of one that a proxy made. */
export async function readProblem(response: Response): Promise<MandateApiError> {
  const { status, statusText } = response;
  const title = statusText === "" ? `Status ${status}` : statusText;
  const unknown = { type: "about:blank", title, status, code: `http-${status}` };
  const text = await response.text().catch(() => "");
  try {
    const problem: unknown = JSON.parse(text);
    if (typeof problem === "object" && problem !== null && "detail" in problem) {
      return new MandateApiError({ ...unknown, ...problem } as ApiProblem);
    }
  } catch {
    // The body is no JSON.
  }
  const detail = `The server answered with status ${status} without details.`;
  return new MandateApiError({ ...unknown, detail });
}

/** Waits for a time, or until the signal aborts. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  if (signal?.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = setTimeout(end, ms);
    signal?.addEventListener("abort", end, { once: true });
    function end(): void {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    }
  });
}
