import { randomUUID } from "node:crypto";
import { inspect } from "node:util";
import type { z } from "zod";
import { MandateError, type MandateErrorCode } from "../../ports/mandate-error.ts";
import { headOf } from "../../text.ts";

/** A write that expected an older version of a record, with the current one. */
export class RecordConflict extends MandateError {
  readonly current: CurrentRecord;

  constructor(message: string, current: CurrentRecord) {
    super("conflict", message);
    this.name = "RecordConflict";
    this.current = current;
  }
}

export interface CurrentRecord {
  /** 0: the record does not exist. */
  readonly version: number;
  readonly value: unknown;
}

/** An error response by RFC 9457. `code` is for programs, `detail` for people. */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: ProblemCode;
  /** The invalid fields of the request. */
  readonly errors?: readonly FieldError[];
  /** The current record, when a write expected an older version. */
  readonly current?: CurrentRecord;
  /** The id of this failure in the server's log. */
  readonly instance?: string;
}

export interface FieldError {
  /** Where in the request: `body.task`, `query.limit`, `path.runId`. */
  readonly field: string;
  readonly message: string;
}

/** Errors of the HTTP surface itself. */
const ownStatuses = {
  "request-invalid": 400,
  unauthenticated: 401,
  forbidden: 403,
  "not-found": 404,
  "method-not-allowed": 405,
  "request-timeout": 408,
  "key-reused": 409,
  "request-running": 409,
  "outcome-unknown": 409,
  "body-too-large": 413,
  "uri-too-long": 414,
  "not-json": 415,
  "host-unknown": 421,
  "too-many-requests": 429,
  "headers-too-large": 431,
  internal: 500,
  unavailable: 503,
} as const;

/** The status of every `MandateError` code. A new code does not compile without a row here. */
const statuses: Readonly<Record<MandateErrorCode, number>> = {
  usage: 400,
  "task-required": 400,
  "unknown-profile": 404,
  "unknown-agent": 404,
  "unknown-model": 404,
  "unknown-delegation": 404,
  "unknown-run": 404,
  "unknown-ask": 404,
  "unknown-memory": 404,
  "refused-by-policy": 403,
  "model-not-configured": 422,
  "contract-invalid": 422,
  "contract-newer": 422,
  "profile-invalid": 422,
  "config-invalid": 422,
  "playbook-invalid": 422,
  "plan-invalid": 422,
  "workflow-invalid": 422,
  "already-terminal": 409,
  "not-resumable": 409,
  "illegal-transition": 409,
  conflict: 409,
  fenced: 409,
  "no-kept-work": 409,
  "ask-closed": 409,
  "storage-full": 507,
  "database-newer": 503,
  "database-unusable": 503,
  closed: 503,
};

export type OwnProblemCode = keyof typeof ownStatuses;
export type ProblemCode = OwnProblemCode | MandateErrorCode;

const titles: Readonly<Record<number, string>> = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  408: "Request Timeout",
  409: "Conflict",
  413: "Content Too Large",
  414: "URI Too Long",
  415: "Unsupported Media Type",
  421: "Misdirected Request",
  422: "Unprocessable Content",
  429: "Too Many Requests",
  431: "Request Header Fields Too Large",
  500: "Internal Server Error",
  503: "Service Unavailable",
  507: "Insufficient Storage",
};

/**
 * Ends a request with a problem response. Thrown anywhere below the app, which answers it in one
 * place.
 */
export class HttpProblem extends Error {
  readonly problem: Problem;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: OwnProblemCode,
    detail: string,
    more: {
      readonly errors?: readonly FieldError[];
      readonly headers?: Readonly<Record<string, string>>;
    } = {},
  ) {
    super(detail);
    this.name = "HttpProblem";
    const { errors, headers = {} } = more;
    this.problem = { ...describe(code, ownStatuses[code], detail), ...(errors && { errors }) };
    this.headers = headers;
  }
}

/**
 * Converts an error to a problem. Errors of the caller keep their message; of internal errors the
 * client learns only an id, and the details go to `log`.
 */
export function problemOf(error: unknown, log: (line: string) => void): Problem {
  if (error instanceof HttpProblem) return error.problem;
  const known = error instanceof MandateError ? error : undefined;
  const status = known === undefined ? 500 : statuses[known.code];
  if (known !== undefined && status < 500) {
    const problem = describe(known.code, status, known.message);
    return known instanceof RecordConflict ? { ...problem, current: known.current } : problem;
  }
  const instance = `urn:uuid:${randomUUID()}`;
  const code = known?.code ?? "internal";
  log(`mandate serve: ${instance} ${code}: ${inspect(error)}`);
  const detail = `The server failed${known === undefined ? "" : ` (${code})`}. Its log has the details under ${instance}.`;
  return { ...describe(code, status, detail), instance };
}

export function problemResponse(
  problem: Problem,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return new Response(JSON.stringify(problem), {
    status: problem.status,
    headers: { "content-type": "application/problem+json", ...headers },
  });
}

/** The invalid fields of a value, from the errors of its schema. */
export function fieldErrors(part: string, error: z.ZodError): readonly FieldError[] {
  return error.issues.slice(0, 20).flatMap((issue): readonly FieldError[] => {
    const field = headOf([part, ...issue.path.map(String)].join("."), 200);
    if (issue.code !== "unrecognized_keys") return [{ field, message: issue.message }];
    return issue.keys
      .slice(0, 20)
      .map((key) => ({ field: `${field}.${headOf(key, 100)}`, message: "is unknown" }));
  });
}

export function invalidRequest(errors: readonly FieldError[]): HttpProblem {
  const [first] = errors;
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : "";
  const detail = `${first?.field ?? "The request"}: ${first?.message ?? "is invalid"}${more}.`;
  return new HttpProblem("request-invalid", detail, { errors });
}

function describe(code: ProblemCode, status: number, detail: string): Problem {
  const title = titles[status] ?? "Error";
  return { type: `urn:mandate:problem:${code}`, title, status, code, detail };
}

/**
 * Headers of every response. Responses are for programs: browsers must not guess a type, frame,
 * execute, cache or send referrers. There are no CORS headers: no other origin is granted anything.
 */
export const replyHeaders: Readonly<Record<string, string>> = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "x-frame-options": "DENY",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store",
};
