import { isBroken, stateOf } from "../../ports/database-fault.ts";
import { MandateError } from "../../ports/mandate-error.ts";

/** What Postgres or the way to it says, in our words. `place` names no password. */
export function databaseError(error: unknown, place: string): unknown {
  if (error instanceof MandateError) return error;
  const state = stateOf(error);
  if (state === "53100") {
    const message = `The disk of the database ${place} is full. Make room on it.`;
    return new MandateError("storage-full", message, { cause: error });
  }
  if (state === undefined && !isBroken(error)) return error;
  const why = error instanceof Error && error.message !== "" ? error.message : whyOf(error);
  const message = `The database ${place} cannot be used (${why}). ${adviceFor(state)}`;
  return new MandateError("database-unusable", message, { cause: error });
}

/** Several addresses of one host were tried, and the error of each is inside. */
function whyOf(error: unknown): string {
  const errors = error instanceof AggregateError ? error.errors : [];
  const messages = errors.map((one) => (one instanceof Error ? one.message : String(one)));
  return messages.join(", ") || String((error as { code?: unknown }).code ?? "no reason given");
}

function adviceFor(state: string | undefined): string {
  switch (state) {
    case undefined:
      return "Check that it runs and can be reached from here, and what MANDATE_DATABASE_URL says.";
    case "28P01":
    case "28000":
      return "Check user and password in MANDATE_DATABASE_URL.";
    case "3D000":
      return "Create it, or name one that is there in MANDATE_DATABASE_URL.";
    case "42501":
      return "Grant this user CREATE on the database, or make it the owner of its schema.";
    case "25006":
      return "It is read-only: name the one that takes writes in MANDATE_DATABASE_URL.";
    case "53300":
      return "It has no connection left: raise max_connections, or run fewer processes.";
    case "55P03":
    case "57014":
      return "Others hold it for too long: look for long transactions in pg_stat_activity.";
    default:
      return "Nothing was changed.";
  }
}
