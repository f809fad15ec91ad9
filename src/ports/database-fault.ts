import { MandateError } from "./mandate-error.ts";

/** The five characters by which Postgres says what is wrong, if it was Postgres who said it. */
export function stateOf(error: unknown): string | undefined {
  const code = error instanceof Error ? (error as { code?: unknown }).code : undefined;
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) && !/^E[A-Z]{4}$/.test(code)
    ? code
    : undefined;
}

/** What is over by itself: a server that restarts, a lock that others hold, too many connections. */
const passing = new Set([
  ...["57P01", "57P02", "57P03", "57P05", "53300", "53400"],
  ...["40001", "40P01", "55P03", "57014", "25P03", "25P04"],
]);

/** Read-only: another server takes the writes now, and a new connection may lead there. */
const demoted = "25006";

/** Texts of the driver about connections that are gone; it has no codes for them. */
const broken =
  /^(Connection terminated|Query read timeout|timeout e|Client (has encountered|was closed)|Cannot use a pool|the database did not answer)/;

/** Whether the connection is to be given up with this error. */
export function isBroken(error: unknown): boolean {
  const state = stateOf(error);
  if (state !== undefined) return state === demoted || /^(08|57P)/.test(state);
  if (!(error instanceof Error) || error instanceof MandateError) return false;
  const { code } = error as { code?: unknown };
  return (typeof code === "string" && /^E[A-Z_]+$/.test(code)) || broken.test(error.message);
}

/** Whether the same may succeed a moment later, perhaps on another connection. */
export function isPassing(error: unknown): boolean {
  return isBroken(error) || passing.has(stateOf(error) ?? "");
}
