import { timingSafeEqual } from "node:crypto";
import { type Clock, systemClock } from "../../ports/clock.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { ControlRecord, RecordStore } from "../../ports/record-store.ts";
import { type Principal, type Role, roles } from "../records/principal.ts";
import { requireRole } from "../records/require-role.ts";
import {
  type AccessToken,
  hashOfToken,
  installationName,
  nameInToken,
  newToken,
  readStoredToken,
  requireTokenName,
  type StoredToken,
} from "./access-token.ts";
import { installationToken } from "./installation-token.ts";
import { seesAllRuns } from "./may-see.ts";

const resourceType = "access-token";

export interface NewAccessToken {
  readonly name: string;
  readonly role: Role;
  readonly scopes?: "*" | readonly string[] | undefined;
  readonly expiresAt?: number | null | undefined;
  /** For an operator; the other roles see all runs in any case. */
  readonly allRuns?: boolean | undefined;
}

/**
 * Who may talk to a server: the holder of the installation's own token, which lies in a file that
 * only its user can read, and those of named ones, which are stored as hashes. A record is looked
 * up at every call, so what was revoked is refused at once, by every process.
 */
export class AccessTokens {
  readonly #store: RecordStore;
  readonly #file: string;
  readonly #clock: Clock;

  constructor(store: RecordStore, installationTokenFile: string, clock: Clock = systemClock) {
    this.#store = store;
    this.#file = installationTokenFile;
    this.#clock = clock;
  }

  /** Undefined for whatever is not a token that holds now. */
  async authenticate(token: string): Promise<Principal | undefined> {
    const name = nameInToken(token);
    if (name === undefined) return undefined;
    if (name === installationName) {
      const own = installationToken(this.#file);
      return isSame(token, hashOfToken(own)) ? { id: name, role: "admin" } : undefined;
    }
    const stored = await this.#read(name);
    if (stored === undefined || !isSame(token, stored.hash)) return undefined;
    if (stored.expiresAt !== null && stored.expiresAt <= this.#clock.now()) return undefined;
    const { allRuns, role, scopes } = stored;
    return { id: name, role, scopes, ...(role === "operator" && allRuns && { allRuns }) };
  }

  /** Gives the token itself; it cannot be had again. */
  async create(
    request: NewAccessToken,
    by: Principal,
  ): Promise<{ readonly token: string; readonly about: AccessToken }> {
    requireRole("manage-tokens", by);
    const { name, role, scopes = "*", expiresAt = null } = request;
    requireTokenName(name);
    if (!roles.includes(role)) {
      throw new MandateError("usage", `A token's role is one of ${roles.join(", ")}.`);
    }
    const createdAt = this.#clock.now();
    if (expiresAt !== null && !(Number.isSafeInteger(expiresAt) && expiresAt > createdAt)) {
      throw new MandateError("usage", "A token has to expire at some time to come.");
    }
    const token = newToken(name);
    const about = { role, scopes, createdBy: by.id, createdAt, expiresAt };
    const before = await this.#store.readRecord(resourceType, name);
    if (before !== undefined) {
      const is = readStoredToken(before) === undefined ? "was" : "is";
      throw new MandateError(
        "conflict",
        `There ${is} a token called ${name}. Take another name: what its holder did stays theirs.`,
      );
    }
    const isWidened = request.allRuns === true && role === "operator";
    const value = { ...about, hash: hashOfToken(token), ...(isWidened && { allRuns: true }) };
    const change = { resourceType, resourceId: name, expectedVersion: 0, value };
    await this.#store.changeRecords([change], by.id);
    const allRuns = seesAllRuns({ role, allRuns: request.allRuns });
    return { token, about: { name, ...about, allRuns } };
  }

  async list(): Promise<readonly AccessToken[]> {
    const records = await this.#store.listRecords(resourceType);
    return records.flatMap((record) => {
      const stored = readStoredToken(record);
      return stored === undefined ? [] : [withoutHash(stored)];
    });
  }

  /** False when no token has that name. */
  async revoke(name: string, by: Principal): Promise<boolean> {
    requireRole("manage-tokens", by);
    const record = await this.#store.readRecord(resourceType, name);
    if (record === undefined || isRevoked(record)) return false;
    // The name stays taken: runs, tasks and pins are its holder's by that name.
    const value = { revokedBy: by.id };
    const change = { resourceType, resourceId: name, expectedVersion: record.version, value };
    await this.#store.changeRecords([change], by.id);
    return true;
  }

  async #read(name: string): Promise<StoredToken | undefined> {
    const record = await this.#store.readRecord(resourceType, name);
    return record && readStoredToken(record);
  }
}

function isRevoked({ value }: ControlRecord): boolean {
  return typeof value === "object" && value !== null && Object.hasOwn(value, "revokedBy");
}

/** Takes as long for a near miss as for any other. */
function isSame(token: string, hash: string): boolean {
  return timingSafeEqual(Buffer.from(hashOfToken(token), "hex"), Buffer.from(hash, "hex"));
}

function withoutHash({ hash: _, ...about }: StoredToken): AccessToken {
  return about;
}
