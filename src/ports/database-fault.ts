import { MandateError } from "./mandate-error.ts";

/** The SQLSTATE of an error from Postgres; undefined: another error. */
export function stateOf(error: unknown): string | undefined {
  const code = error instanceof Error ? (error as { code?: unknown }).code : undefined;
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) && !/^E[A-Z]{4}$/.test(code)
    ? code
    : undefined;
}

/** The SQLSTATE, or the system's code such as ECONNREFUSED; undefined: the error has none. */
export function codeOf(error: unknown): string | undefined {
  const [first = error] = error instanceof AggregateError ? error.errors : [];
  const { code } = (first ?? {}) as { readonly code?: unknown };
  return typeof code === "string" && /^[0-9A-Z_]{2,30}$/.test(code) ? code : undefined;
}

/** Transient states: a restarting server, a lock of another session, too many connections. */
const passing = new Set([
  ...["57P01", "57P02", "57P03", "57P05", "53300", "53400"],
  ...["40001", "40P01", "55P03", "57014", "25P03", "25P04"],
]);

/** The server is read-only now: a new connection may reach the new primary. */
const demoted = "25006";

/** The driver's messages about lost connections, for which it has no codes. */
const broken =
  /^(Connection terminated|Query read timeout|timeout e|Client (has encountered|was closed)|Cannot use a pool|the database did not answer)/;

/** Whether the connection must be closed after this error. */
export function isBroken(error: unknown): boolean {
  const state = stateOf(error);
  if (state !== undefined) return state === demoted || /^(08|57P)/.test(state);
  if (!(error instanceof Error) || error instanceof MandateError) return false;
  const { code } = error as { code?: unknown };
  // A certificate for another name stays one.
  const isSystem = typeof code === "string" && /^E(?!RR_TLS_CERT)[A-Z_]+$/.test(code);
  return isSystem || broken.test(error.message);
}

/** Whether a retry may succeed, perhaps on another connection. */
export function isPassing(error: unknown): boolean {
  return isBroken(error) || passing.has(stateOf(error) ?? "");
}
