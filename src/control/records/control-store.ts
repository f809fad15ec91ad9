import { type Clock, sleep, systemClock } from "../../ports/clock.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { ControlRecord, RecordStore } from "../../ports/record-store.ts";
import type { Store } from "../../ports/store.ts";
import type { IsKnownProfile } from "./agent-registry.ts";

/** What the control plane needs of a store: its records, and the log of commands. */
export type ControlStore = RecordStore & Pick<Store, "noteCommand">;

/** The profiles that are not records: shipped, in files, in the configuration. */
interface ProfileCatalog {
  has(id: string): boolean;
  /** The reason why a defined profile cannot be used. */
  problemOf?(id: string): string | undefined;
  /** Takes in what was acknowledged a moment ago. */
  refresh?(): Promise<void>;
}

export interface ControlParts {
  readonly store: ControlStore;
  readonly profiles: ProfileCatalog;
  /** The workspace of those who do not name one. */
  readonly defaultWorkspace?: string | undefined;
  readonly clock?: Clock;
}

export const registryId = "agent-registry:default";
export const trustedPrefix = "acknowledged:";

/** Records as they are now: another process may have written or deleted one since. */
export async function knownProfiles({ store, profiles }: ControlParts): Promise<IsKnownProfile> {
  await profiles.refresh?.();
  const stored = new Set((await store.listRecords("profile")).map(({ resourceId }) => resourceId));
  const isKnown = (id: string): boolean => stored.has(id) || profiles.has(id);
  return Object.assign(isKnown, { problemOf: (id: string) => profiles.problemOf?.(id) });
}

/** What a change has to expect: 0 where there is no record. */
export function versionOf(record: ControlRecord | undefined): number {
  return record?.version ?? 0;
}

const maximumTries = 64;
const maximumWaitMs = 50;

/**
 * For changes that hold whatever the record said before: reads and writes again when another writer
 * wrote in between. Waits for a random while first, or those who met once would meet again.
 */
export async function retryOnConflict<Value>(
  attempt: () => Promise<Value>,
  clock: Clock = systemClock,
): Promise<Value> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await attempt();
    } catch (error) {
      const isConflict = error instanceof MandateError && error.code === "conflict";
      if (!isConflict || tries === maximumTries) throw error;
    }
    await sleep(clock, clock.random() * Math.min(maximumWaitMs, 2 ** tries));
  }
}

/** Deletes a policy record, whatever its version. False when there was none. */
export function removePolicy(
  { clock, store }: Pick<ControlParts, "clock" | "store">,
  resourceId: string,
  actor: string,
): Promise<boolean> {
  return retryOnConflict(async () => {
    const record = await store.readRecord("policy", resourceId);
    if (record === undefined) return false;
    const { version: expectedVersion } = record;
    const change = { resourceType: "policy", resourceId, expectedVersion, value: null };
    await store.changeRecords([change], actor);
    return true;
  }, clock);
}
