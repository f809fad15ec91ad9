import { createHash } from "node:crypto";
import { MandateError } from "../../ports/mandate-error.ts";
import { headOf } from "../../text.ts";

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
