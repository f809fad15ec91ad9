import { createHash } from "node:crypto";
import { MandateError } from "../../ports/mandate-error.ts";
import { headOf } from "../../text.ts";

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

/**
 * A tenant is a schema. Every statement names it, and connections look nowhere else for tables, so
 * that no query reaches another tenant's rows because of a forgotten condition.
 */
export interface SchemaName {
  /** As it is written in statements, with its quotes. */
  readonly quoted: string;
  /** Also the channel on which commits are told. */
  readonly plain: string;
  /** What appends of this tenant hold, one after the other. */
  readonly lock: string;
}

export function schemaNameOf(tenant?: string): SchemaName {
  if (tenant !== undefined && !/^[a-z][a-z0-9_]{0,30}$/.test(tenant)) {
    throw new MandateError(
      "usage",
      `"${headOf(tenant, 40)}" is no name of a tenant: it begins with a small letter and has at most 31 of a-z, 0-9 and _.`,
    );
  }
  const plain = tenant === undefined ? "mandate" : `mandate_${tenant}`;
  const digest = createHash("sha256").update(`appends of ${plain}`).digest();
  return { plain, quoted: `"${plain}"`, lock: String(digest.readBigInt64BE()) };
}
