import type { DLogger } from "@dbos-inc/dbos-sdk";
import type { Clock } from "../../ports/clock.ts";
import { MandateError } from "../../ports/mandate-error.ts";

type Dbos = typeof import("@dbos-inc/dbos-sdk");

/** An optional package: only who spreads runs over workers needs it. */
export async function loadDbos(): Promise<Dbos> {
  try {
    return await import("@dbos-inc/dbos-sdk");
  } catch (error) {
    throw new MandateError(
      "config-invalid",
      "`engine.kind: dbos` needs a package that is not installed: npm install @dbos-inc/dbos-sdk pg",
      { cause: error },
    );
  }
}

/** The tables of the queues lie beside those of the tenants, in a schema of their own. */
export const engineSchema = "mandate_engine";

/**
 * How the engine reaches the database. It would set this limit on each connection by a query that
 * nobody waits for, which the driver warns of; a connection that begins with it needs none.
 */
export function engineAddress(url: string): string {
  const address = new URL(url);
  const asked = address.searchParams.get("options") ?? "";
  const options = `-c idle_in_transaction_session_timeout=60000 ${asked}`.trim();
  address.searchParams.set("options", options);
  // The driver reads a plus as a plus, and a space is written otherwise.
  return address.href.replaceAll("+", "%20");
}

export const applicationName = "mandate";

/**
 * What workers have to agree on to work on the same queues: what a queued item says. What a
 * delegation may do is in its contract, which says itself which version it has.
 */
export const applicationVersion = "mandate-1";

/**
 * What the engine says of itself is for developers, and what matters of it reaches people as events.
 * Its warnings are passed on, each kind now and then: a database that is away is one piece of news,
 * and not one for every queue and every look.
 */
export function quietLogger(log: (line: string) => void, clock: Clock): DLogger {
  const lastSaid = new Map<string, number>();
  const say = (entry: unknown): void => {
    const text = entry instanceof Error ? entry.message : String(entry);
    // Who was taken for dead and comes back is told that another did its work: as it should be.
    if (text.includes("no longer owned by this execution")) return;
    const kind = text.slice(0, 24);
    const now = clock.monotonic();
    if (now - (lastSaid.get(kind) ?? Number.NEGATIVE_INFINITY) < sayEveryMs) return;
    lastSaid.set(kind, now);
    log(text);
  };
  return { info: () => undefined, debug: () => undefined, warn: say, error: say };
}

const sayEveryMs = 30_000;
