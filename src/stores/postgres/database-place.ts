import { createHash } from "node:crypto";
import { MandateError } from "../../ports/mandate-error.ts";
import { headOf } from "../../text.ts";

export interface DatabaseAddress {
  /** The address for the driver. */
  readonly connectionString: string;
  /** The address for people: host, port and database, without secrets. */
  readonly place: string;
}

/**
 * Parses a Postgres URL. The error for another URL does not repeat it, because it may hold a
 * password.
 */
export function databaseAddressOf(url: string): DatabaseAddress {
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    throw refusal("is not a URL");
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
    `MANDATE_DATABASE_URL (or database.url in the configuration) ${why}. It is postgres://USER:PASSWORD@HOST:PORT/DATABASE; leave it out to use SQLite.`,
  );
}

/**
 * Each tenant has a schema. Every statement names it, and connections search no other schema, so
 * that a forgotten condition cannot reach the rows of another tenant.
 */
export interface SchemaName {
  /** The name in quotes, for statements. */
  readonly quoted: string;
  /** The name of the schema, which is also the channel of commit notifications. */
  readonly plain: string;
  /** The advisory lock that serializes the appends of this tenant. */
  readonly lock: string;
}

export function schemaNameOf(tenant?: string): SchemaName {
  if (tenant !== undefined && !/^[a-z][a-z0-9_]{0,30}$/.test(tenant)) {
    throw new MandateError(
      "usage",
      `"${headOf(tenant, 40)}" is not a valid tenant name: use a-z, 0-9 and _, at most 31 characters, beginning with a letter.`,
    );
  }
  const plain = tenant === undefined ? "mandate" : `mandate_${tenant}`;
  const digest = createHash("sha256").update(`appends of ${plain}`).digest();
  return { plain, quoted: `"${plain}"`, lock: String(digest.readBigInt64BE()) };
}
