import { type Clock, sleep, systemClock } from "../../ports/clock.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { ControlRecord, RecordStore } from "../../ports/record-store.ts";
import type { Store } from "../../ports/store.ts";
import type { IsKnownProfile } from "./agent-registry.ts";

/** The part of a store that the control plane uses: records, and the log of commands. */
export type ControlStore = RecordStore & Pick<Store, "noteCommand">;

/** The profiles that are no records: shipped, in files, in the configuration. */
interface ProfileCatalog {
  has(id: string): boolean;
  /** The reason why a defined profile cannot be used. */
  problemOf?(id: string): string | undefined;
  /** Reads content again that was just trusted. */
  refresh?(): Promise<void>;
}

export interface ControlParts {
  readonly store: ControlStore;
  readonly profiles: ProfileCatalog;
  /** The default workspace. */
  readonly defaultWorkspace?: string | undefined;
  readonly clock?: Clock;
}

export const registryId = "agent-registry:default";
export const trustedPrefix = "acknowledged:";

/** Reads the records, since another process may have written or deleted one. */
export async function knownProfiles({ store, profiles }: ControlParts): Promise<IsKnownProfile> {
  await profiles.refresh?.();
  const stored = new Set((await store.listRecords("profile")).map(({ resourceId }) => resourceId));
  const isKnown = (id: string): boolean => stored.has(id) || profiles.has(id);
  return Object.assign(isKnown, { problemOf: (id: string) => profiles.problemOf?.(id) });
}

/** The version that a change expects; 0 without a record. */
export function versionOf(record: ControlRecord | undefined): number {
  return record?.version ?? 0;
}

const maximumTries = 64;
const maximumWaitMs = 50;

/**
 * Repeats a change until no other writer interferes, for changes that do not depend on the record's
 * content. Waits a random time between attempts, so that concurrent writers separate.
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
