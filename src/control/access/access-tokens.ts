import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import {
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { z } from "zod";
import { sha256 } from "../../events/hash-chain.ts";
import { type Clock, systemClock } from "../../ports/clock.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { ControlRecord, RecordStore } from "../../ports/record-store.ts";
import {
  installationUser,
  type Principal,
  type Role,
  requireRole,
  roles,
  seesAllRuns,
} from "../records/principal.ts";

const resourceType = "access-token";

export interface NewAccessToken {
  readonly name: string;
  readonly role: Role;
  readonly scopes?: "*" | readonly string[] | undefined;
  readonly expiresAt?: number | null | undefined;
  /** Only for an operator; the other roles see all runs in any case. */
  readonly allRuns?: boolean | undefined;
}

/**
 * The tokens of a server: the installation's own, in a file that only its user can read, and named
 * ones, which are stored as hashes. The record is read at every call, so every process refuses a
 * revoked token at once.
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

  /** Shows that this server reads the installation's token, without sending it. */
  prove(challenge: string): string {
    return proofOf(installationToken(this.#file), challenge);
  }

  /** Undefined for anything but a valid token. */
  async authenticate(token: string): Promise<Principal | undefined> {
    const name = nameInToken(token);
    if (name === undefined) return undefined;
    if (name === installationUser) {
      const own = installationToken(this.#file);
      return isSame(token, hashOfToken(own)) ? { id: name, role: "admin" } : undefined;
    }
    const stored = await this.#read(name);
    if (stored === undefined || !isSame(token, stored.hash)) return undefined;
    if (stored.expiresAt !== null && stored.expiresAt <= this.#clock.now()) return undefined;
    const { allRuns, role, scopes } = stored;
    return { id: name, role, scopes, ...(role === "operator" && allRuns && { allRuns }) };
  }

  /** Returns the token itself, which cannot be read again. */
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
      throw new MandateError("usage", "The expiry of a token has to be in the future.");
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
    // The name stays reserved: runs, tasks and pins of the holder carry it.
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

/** Compares in constant time. */
function isSame(token: string, hash: string): boolean {
  return timingSafeEqual(Buffer.from(hashOfToken(token), "hex"), Buffer.from(hash, "hex"));
}

function withoutHash({ hash: _, ...about }: StoredToken): AccessToken {
  return about;
}

/** An access token as others see it, without its secret. */
interface AccessToken {
  readonly name: string;
  readonly role: Role;
  /** The scopes that contracts started by the holder may have. */
  readonly scopes: "*" | readonly string[];
  /** Whether the holder sees the runs of all principals, or only its own. */
  readonly allRuns: boolean;
  readonly createdBy: string;
  readonly createdAt: number;
  /** Null: the token is valid until it is revoked. */
  readonly expiresAt: number | null;
}

/** The stored token: with the hash of its secret, which cannot be reversed. */
interface StoredToken extends AccessToken {
  readonly hash: string;
}

const namePattern = /^[a-z0-9][a-z0-9-]{0,31}$/;
const tokenPattern = /^mnd_([a-z0-9][a-z0-9-]{0,31})_([A-Za-z0-9_-]{43})$/;

/** A new token of 256 random bits, which need no slow hash. The name in it finds its record. */
function newToken(name: string): string {
  return `mnd_${name}_${randomBytes(32).toString("base64url")}`;
}

function hashOfToken(token: string): string {
  return sha256(token);
}

/** The name in a token; undefined for a text that is no token. */
function nameInToken(token: string): string | undefined {
  return tokenPattern.exec(token)?.[1];
}

function requireTokenName(name: string): void {
  if (namePattern.test(name) && name !== installationUser) return;
  const why =
    name === installationUser
      ? `"${installationUser}" is the installation's own token.`
      : `It has 1 to 32 small letters, digits and dashes; this is ${JSON.stringify(name.slice(0, 60))}.`;
  throw new MandateError("usage", `A token needs a name of its own. ${why}`);
}

const storedSchema = z.strictObject({
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  role: z.enum(roles as readonly [Role, ...Role[]]),
  scopes: z.union([z.literal("*"), z.array(z.string().min(1).max(200)).max(200)]),
  // Absent in older records, and in those of other roles.
  allRuns: z.boolean().optional(),
  createdBy: z.string(),
  createdAt: z.number(),
  expiresAt: z.number().nullable(),
});

/** Undefined for a damaged record, which grants no access. */
function readStoredToken({ resourceId, value }: ControlRecord): StoredToken | undefined {
  const parsed = storedSchema.safeParse(value);
  if (!parsed.success) return undefined;
  return { name: resourceId, ...parsed.data, allRuns: seesAllRuns(parsed.data) };
}

/**
 * The token of this installation, created at the first call. Every reader of the file has all
 * rights, so a file that other users can read is refused.
 */
export function installationToken(file: string): string {
  try {
    return readToken(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  const draft = writeDraft(file);
  try {
    // If two processes do this at once, the second reads the token of the first.
    linkSync(draft, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    rmSync(draft, { force: true });
  }
  return readToken(file);
}

/** Only a program that can read the token can compute it. */
export function proofOf(token: string, challenge: string): string {
  return createHmac("sha256", token).update(`mandate server ${challenge}`).digest("base64url");
}

/** Replaces the token; the old one is invalid from now on. */
export function rotateInstallationToken(file: string): string {
  renameSync(writeDraft(file), file);
  return readToken(file);
}

function writeDraft(file: string): string {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const token = newToken(installationUser);
  const draft = `${file}.${process.pid}.${token.slice(-8)}`;
  writeFileSync(draft, `${token}\n`, { mode: 0o600, flag: "wx" });
  return draft;
}

function readToken(file: string): string {
  // Checked on the path at every read: what matters is who can read the file now.
  const isOpenToOthers = process.platform !== "win32" && (statSync(file).mode & 0o077) !== 0;
  if (isOpenToOthers) {
    throw new MandateError(
      "config-invalid",
      `Other users can read the access token in "${file}". Create a new token with \`mandate token rotate\`.`,
    );
  }
  const token = readFileSync(file, "utf8").trim();
  if (nameInToken(token) === installationUser) return token;
  throw new MandateError(
    "config-invalid",
    `The file "${file}" does not contain an access token. Create a new token with \`mandate token rotate\`.`,
  );
}
