import type { KeyStanding } from "../../ports/store.ts";

/** What is known of a request from the row of its key. */
export function keyStandingOf(
  row: Readonly<Record<string, unknown>>,
  fingerprint: string,
  isWorkerAlive: (worker: string) => boolean,
): KeyStanding {
  if (row["fingerprint"] !== fingerprint) return { is: "taken" };
  if (row["status"] !== null) {
    return { is: "finished", reply: { status: Number(row["status"]), body: String(row["reply"]) } };
  }
  return { is: isWorkerAlive(String(row["worker"])) ? "running" : "unknown" };
}
