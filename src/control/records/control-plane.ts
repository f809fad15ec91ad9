import { MandateError } from "../../ports/mandate-error.ts";
import type { ControlRecord } from "../../ports/record-store.ts";
import type { RememberedConsent } from "../folders/decide-consent.ts";
import { type AgentEntry, parseAgentRegistry } from "./agent-registry.ts";
import {
  type Applied,
  applyDocument,
  type ControlDocument,
  exportDocument,
} from "./apply-document.ts";
import {
  readConsents,
  removeConsent,
  type StoredConsent,
  writeConsent,
} from "./consent-records.ts";
import { type ControlParts, knownProfiles, registryId } from "./control-store.ts";
import {
  deleteLimit,
  type LimitValue,
  readLimits,
  type StoredLimit,
  writeLimit,
} from "./limit-records.ts";
import {
  decidePin,
  type EffectivePin,
  isPinRecordId,
  type ListedPin,
  type PinContext,
  type PinScope,
  pinRecordId,
  readPins,
  readPinValue,
  readStoredPins,
  removePin,
  type StoredPin,
  writePin,
} from "./pins.ts";
import {
  holdsRole,
  type Principal,
  requirePinRole,
  requireRole,
  seesAllRuns,
} from "./principal.ts";
import { deleteProfileRecord, writeProfile } from "./profile-records.ts";
import {
  type AgentChange,
  changeAgents,
  readRegistry,
  replaceRegistry,
  requireEntry,
  requireProfile,
  type StoredRegistry,
  withChange,
  withEntry,
  withoutEntry,
} from "./registry-record.ts";
import { quote } from "./shown-text.ts";
import { readStops, type StoredStop, writeStop } from "./stop-records.ts";
import { readJson } from "./strict-json.ts";
import {
  readTrustedContent,
  readTrustedHashes,
  type TrustedContent,
  type TrustedFile,
  trustContent,
  withdrawTrust,
} from "./trust-records.ts";

/**
 * The records that people change: registered agents, pins, trust, consent, profiles. Every method
 * that changes one takes the principal and checks the role first, so that no surface can forget the
 * check. Reading is public.
 */
export class ControlPlane {
  readonly #parts: ControlParts;

  constructor(parts: ControlParts) {
    this.#parts = parts;
  }

  registry(): Promise<StoredRegistry> {
    return readRegistry(this.#parts.store);
  }

  /**
   * Throws "unknown-agent". The profile of the agent may be missing, which is an error when the
   * agent is used.
   */
  async entry(agentId: string): Promise<AgentEntry> {
    return requireEntry((await this.registry()).registry.agents, agentId);
  }

  /** Registers an agent, or changes one: fields that the entry does not give stay. */
  async register(entry: AgentEntry, by: Principal): Promise<StoredRegistry> {
    requireRole("register", by);
    return changeAgents(this.#parts, by.id, (agents, isKnown) => withEntry(agents, entry, isKnown));
  }

  async change(agentId: string, change: AgentChange, by: Principal): Promise<StoredRegistry> {
    requireRole("change", by);
    return changeAgents(this.#parts, by.id, (agents, isKnown) =>
      withChange(agents, agentId, change, isKnown),
    );
  }

  async unregister(agentId: string, by: Principal): Promise<StoredRegistry> {
    requireRole("unregister", by);
    return changeAgents(this.#parts, by.id, (agents) => withoutEntry(agents, agentId));
  }

  /**
   * Replaces the registry by JSON text or data. Throws "conflict" when the registry has another
   * version.
   */
  async replaceRegistry(
    source: unknown,
    expectedVersion: number,
    by: Principal,
  ): Promise<StoredRegistry> {
    requireRole("edit", by);
    const registry = parseAgentRegistry(source, await knownProfiles(this.#parts));
    return replaceRegistry(this.#parts, registry, expectedVersion, by.id);
  }

  /** Applies registry, profile records and shared pins in one transaction. */
  async apply(document: unknown, by: Principal): Promise<Applied> {
    requireRole("apply", by);
    return applyDocument(this.#parts, document, by.id);
  }

  /**
   * Exports the registry; for operators also profile records, which hold prompts and servers, and
   * pins.
   */
  async exportDocument(by: Principal): Promise<ControlDocument> {
    requireRole("read", by);
    return exportDocument(this.#parts, { isWhole: holdsRole("operator", by) });
  }

  /** Replaces a record by JSON, for editors; `editRecord` says which records. */
  async editAllowlisted(
    record: string,
    source: unknown,
    expectedVersion: number,
    by: Principal,
  ): Promise<ControlRecord | null> {
    // A person may set their own pin, in any role.
    const isOwnPin = record === `policy/${pinRecordId("user", { user: by.id }) ?? ""}`;
    requireRole(isOwnPin ? "pin-user" : "edit", by);
    return editRecord(this.#parts, { record, source, expectedVersion }, by.id);
  }

  async pin(
    scope: PinScope,
    profileId: string,
    context: PinContext,
    by: Principal,
  ): Promise<string> {
    requirePinRole(scope, context, by);
    return writePin(this.#parts, { scope, profileId, context }, by.id);
  }

  /** Pins the current profile of the agent; the pin stays when the agent is removed. */
  async pinAgent(
    scope: PinScope,
    agentId: string,
    context: PinContext,
    by: Principal,
  ): Promise<EffectivePin> {
    requirePinRole(scope, context, by);
    const { profileId } = await this.entry(agentId);
    const source = await writePin(this.#parts, { scope, profileId, context }, by.id);
    return { scope, profileId, source };
  }

  /** Deletes the record; false when there was none. */
  async unpin(scope: PinScope, context: PinContext, by: Principal): Promise<boolean> {
    requirePinRole(scope, context, by);
    return removePin(this.#parts, { scope, context }, by.id);
  }

  /** Every pin that applies, including broken ones, which have a `problem`. */
  pins(context: PinContext): Promise<readonly ListedPin[]> {
    return readPins(this.#parts, context);
  }

  /** All pins of all scopes and users, up to a limit. */
  storedPins(most: number): Promise<readonly StoredPin[]> {
    return readStoredPins(this.#parts, most);
  }

  /**
   * The pin that applies. Throws "unknown-profile" when its profile is missing; no other pin is
   * used instead.
   */
  effectivePin(context: PinContext): Promise<EffectivePin | undefined> {
    return decidePin(this.#parts, context);
  }

  /**
   * Trusts exactly this content: it takes effect from now on. `about` is shown to people.
   * @example await mandate.control.trust(waiting.hash, waiting, { id: "ada", role: "operator" });
   */
  async trust(hash: string, about: TrustedFile, by: Principal): Promise<void> {
    requireRole("trust", by);
    await trustContent(this.#parts, hash, about, by.id);
  }

  /** False when the content was not trusted. */
  async withdrawTrust(hash: string, by: Principal): Promise<boolean> {
    requireRole("trust", by);
    return withdrawTrust(this.#parts, hash, by.id);
  }

  /** Every trusted content, with the file that held it when it was trusted. */
  trustedContent(): Promise<readonly TrustedContent[]> {
    return readTrustedContent(this.#parts.store);
  }

  trustedHashes(): Promise<ReadonlySet<string>> {
    return readTrustedHashes(this.#parts.store);
  }

  /** @deprecated The former name of `trust`. */
  acknowledge(hash: string, about: TrustedFile, by: Principal): Promise<void> {
    return this.trust(hash, about, by);
  }

  /** @deprecated The former name of `withdrawTrust`. */
  withdrawAcknowledgement(hash: string, by: Principal): Promise<boolean> {
    return this.withdrawTrust(hash, by);
  }

  /** @deprecated The former name of `trustedContent`. */
  acknowledgements(): Promise<readonly TrustedContent[]> {
    return this.trustedContent();
  }

  /** @deprecated The former name of `trustedHashes`. */
  acknowledged(): Promise<ReadonlySet<string>> {
    return this.trustedHashes();
  }

  /** The stored consents of a user. */
  consents(user: string): Promise<readonly StoredConsent[]> {
    return readConsents(this.#parts.store, user);
  }

  /** Stores how agents may work in a folder for this user; replaces an earlier answer. */
  async consent(consent: RememberedConsent, by: Principal): Promise<void> {
    requireRole("consent", by);
    await writeConsent(this.#parts, consent, by.id);
  }

  /** False when the user gave none for exactly this folder. */
  async withdrawConsent(folder: string, by: Principal): Promise<boolean> {
    requireRole("consent", by);
    return removeConsent(this.#parts, folder, by.id);
  }

  profileRecords(): Promise<readonly ControlRecord[]> {
    return this.#parts.store.listRecords("profile");
  }

  async putProfile(
    id: string,
    source: unknown,
    expectedVersion: number,
    by: Principal,
  ): Promise<ControlRecord> {
    requireRole("change-profile", by);
    return writeProfile(this.#parts, { id, source, expectedVersion }, by.id);
  }

  /** Throws "refused-by-policy" while a registered agent has this profile. */
  async deleteProfile(id: string, expectedVersion: number, by: Principal): Promise<void> {
    requireRole("change-profile", by);
    await deleteProfileRecord(this.#parts, id, expectedVersion, by.id);
  }

  /** The limits on model requests, with who set each and when. */
  limits(): Promise<readonly StoredLimit[]> {
    return readLimits(this.#parts.store);
  }

  /** Sets the numbers of a limit. Throws "conflict" when it has another version (0: not stored). */
  async setLimit(
    scope: string,
    value: LimitValue,
    expectedVersion: number,
    by: Principal,
  ): Promise<StoredLimit> {
    requireRole("set-limit", by);
    return writeLimit(this.#parts.store, { scope, value, expectedVersion }, by.id);
  }

  /** Throws "conflict" when the limit has another version. */
  async removeLimit(scope: string, expectedVersion: number, by: Principal): Promise<void> {
    requireRole("set-limit", by);
    await deleteLimit(this.#parts.store, scope, expectedVersion, by.id);
  }

  /** The queues, workers and versions that take no work, with who stopped each and when. */
  stops(): Promise<readonly StoredStop[]> {
    return readStops(this.#parts.store);
  }

  /** Pauses a queue, or drains a worker or a version; or lets it take work again. False: it was so. */
  async setStop(scope: string, isStopped: boolean, by: Principal): Promise<boolean> {
    requireRole("manage-fleet", by);
    // A queue and a worker have the work of all: who may not steer that may not stop it either.
    if (!seesAllRuns(by)) {
      throw new MandateError(
        "refused-by-policy",
        "Pausing queues and draining workers stops the runs of others, and this token sees its own runs only (--all-runs).",
      );
    }
    return writeStop(this.#parts.store, scope, isStopped, by.id);
  }

  /** Logs a command, its principal and its outcome. */
  async noteCommand(command: string, by: Principal, outcome: string): Promise<void> {
    await this.#parts.store.noteCommand(command, by.id, outcome);
  }
}

/**
 * Edits the registry or a pin as JSON, with the usual validation; null deletes a pin. Other records
 * cannot be edited.
 */
async function editRecord(
  parts: ControlParts,
  {
    expectedVersion,
    record,
    source,
  }: { readonly record: string; readonly source: unknown; readonly expectedVersion: number },
  actor: string,
): Promise<ControlRecord | null> {
  const resourceId = requireAllowlisted(record);
  const isKnown = await knownProfiles(parts);
  const value =
    resourceId === registryId
      ? parseAgentRegistry(source, isKnown)
      : pinValue(readJson(source, record), resourceId, (id) => requireProfile(id, isKnown));
  const change = { resourceType: "policy", resourceId, expectedVersion, value };
  const [changed] = await parts.store.changeRecords([change], actor);
  return changed ?? null;
}

function requireAllowlisted(record: string): string {
  const resourceId = record.startsWith("policy/") ? record.slice("policy/".length) : "";
  if (resourceId === registryId || isPinRecordId(resourceId)) return resourceId;
  throw new MandateError(
    "refused-by-policy",
    `The record ${quote(record)} cannot be edited here. Those that can: policy/${registryId}, policy/profile-pin:{session:<id>|user:<id>|workspace:<id>|global}.`,
  );
}

function pinValue(value: unknown, resourceId: string, requireKnown: (id: string) => void) {
  if (value === null) return null;
  const profileId = readPinValue(value, resourceId);
  requireKnown(profileId);
  return { profileId };
}
