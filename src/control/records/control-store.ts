import type { Clock } from "../../ports/clock.ts";
import type { ControlRecord, RecordStore } from "../../ports/record-store.ts";
import type { Store } from "../../ports/store.ts";
import type { IsKnownProfile } from "./check-agents.ts";

/** What the control plane needs of a store: its records, and the log of commands. */
export type ControlStore = RecordStore & Pick<Store, "noteCommand">;

/** The profiles that are not records: shipped, in files, in the configuration. */
export interface ProfileCatalog {
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
export const acknowledgedPrefix = "acknowledged:";

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
