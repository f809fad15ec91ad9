import { randomBytes } from "node:crypto";
import { MandateError, unlessConflict } from "../../../ports/mandate-error.ts";
import type { ControlRecord, RecordStore } from "../../../ports/record-store.ts";

const variable = "MANDATE_PAGE_KEY";
const keyBytes = 32;

/**
 * The key of page sessions that a person chose for all servers behind one address; undefined: the
 * database has it. An invalid key is an error: with another one instead, every second request behind
 * the load balancer would be signed out.
 */
export function readPageKey(
  environment: Readonly<Record<string, string | undefined>>,
): Buffer | undefined {
  const text = environment[variable]?.trim() ?? "";
  if (text === "") return undefined;
  const key = Buffer.from(text, "base64");
  // Decoding skips invalid characters, so the text must equal its own re-encoding.
  const isExact = key.toString("base64") === text;
  if (isExact && key.length === keyBytes) return key;
  const what = isExact ? `It has ${key.length} bytes.` : "It is not base64.";
  throw new MandateError(
    "config-invalid",
    `${variable} must be ${keyBytes} random bytes in base64. ${what} Make one with: openssl rand -base64 32`,
  );
}

const place = { resourceType: "page-key", resourceId: "current" } as const;

/**
 * The key in the database, created at the first call: page sessions survive a restart, and count at
 * every server of one database. Who has it can make sessions only for tokens that they have.
 */
export async function storedPageKey(store: RecordStore): Promise<Buffer> {
  for (;;) {
    const record = await store.readRecord(place.resourceType, place.resourceId);
    const key = record && keyIn(record);
    if (key !== undefined) return key;
    const value = { key: randomBytes(keyBytes).toString("base64") };
    const change = { ...place, expectedVersion: record?.version ?? 0, value };
    // On a conflict another server made the key at the same time.
    await store.changeRecords([change], "page").catch(unlessConflict);
  }
}

function keyIn({ value }: ControlRecord): Buffer | undefined {
  const { key } = (value ?? {}) as { readonly key?: unknown };
  const bytes = Buffer.from(typeof key === "string" ? key : "", "base64");
  return bytes.length === keyBytes ? bytes : undefined;
}
