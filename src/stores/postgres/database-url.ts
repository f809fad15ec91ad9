import { MandateError } from "../../ports/mandate-error.ts";

export interface DatabaseAddress {
  /** For the driver. */
  readonly connectionString: string;
  /** For people: host, port and database, and nothing that is secret. */
  readonly place: string;
}

/** What a URL names; throws for one that is none of Postgres's, without repeating it. */
export function databaseAddressOf(url: string): DatabaseAddress {
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    throw refusal("is no URL");
  }
  const { hostname, pathname, port, protocol, searchParams } = parsed;
  if (protocol !== "postgres:" && protocol !== "postgresql:") {
    throw refusal(`begins with ${protocol}`);
  }
  const host = hostname || searchParams.get("host") || "localhost";
  const database = decodeURIComponent(pathname.slice(1)) || "the user's own";
  return {
    connectionString: url,
    place: `${database} at ${decodeURIComponent(host)}:${port || "5432"}`,
  };
}

function refusal(why: string): MandateError {
  return new MandateError(
    "config-invalid",
    `MANDATE_DATABASE_URL (or database.url in the configuration) ${why}. It is postgres://USER:PASSWORD@HOST:PORT/DATABASE; leave it away for the embedded database.`,
  );
}
