import { randomBytes, scrypt } from "node:crypto";
import { promisify } from "node:util";
import { unlessConflict } from "../../../ports/mandate-error.ts";
import type { ControlRecord, RecordStore } from "../../../ports/record-store.ts";
import type { PageSeal } from "./page-seal.ts";

/** A link is opened; a short code is typed by a person. */
export type CodeKind = "link" | "short";

export type StoredCodeRefusal = "expired" | "tries" | "used" | "wrong";

export interface StoredCodesOptions {
  readonly store: RecordStore;
  readonly seal: PageSeal;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export const codeMs = 600_000;
const mostTries = 5;
const resourceType = "page-code";
const slotLength = 2;
/** Crockford's base 32: no letter that can be taken for a digit. */
const letters = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const shortLength = 10;
const linkPattern = /^[\w-]{24}$/;
const shortPattern = /^[0-9A-HJKMNP-TV-Z]{10}$/;
/** The most codes of one kind; the oldest is replaced. Slots are record ids, so those are bounded too. */
const mostCodes = 200;
const derive = promisify(scrypt) as (
  secret: string,
  salt: Buffer,
  bytes: number,
) => Promise<Buffer>;

interface StoredCode {
  readonly sealed: string;
  readonly salt: string;
  readonly until: number;
  readonly tries: number;
  readonly isUsed: boolean;
}

/**
 * Sign-in codes in the database: any server of it accepts them, once, within ten minutes. The first
 * characters of a code find its record; the rest opens the token sealed in it, which the key of the
 * page alone does not. After five wrong attempts a code is worthless. A slow hash keeps the forty
 * bits of a short code from being searched by a reader of the database.
 */
export class StoredCodes {
  readonly #options: StoredCodesOptions;

  constructor(options: StoredCodesOptions) {
    this.#options = options;
  }

  async create(kind: CodeKind, token: string): Promise<string> {
    const { now, seal } = this.#options;
    const secret = kind === "link" ? randomBytes(16).toString("base64url") : randomLetters(8);
    const salt = randomBytes(16);
    const until = now() + codeMs;
    const sealed = (await this.#sealOf(seal, secret, salt)).seal("code", { token, until });
    const value: StoredCode = {
      ...{ sealed, until, salt: salt.toString("base64"), tries: 0, isUsed: false },
    };
    const slot = await this.#store(kind, value);
    const code = `${slot}${secret}`;
    return kind === "link" ? code : `${code.slice(0, 5)}-${code.slice(5)}`;
  }

  /** The token that a code stands for. The code is used up by this. */
  async use(
    kind: CodeKind,
    code: string,
  ): Promise<{ readonly token: string } | { readonly refused: StoredCodeRefusal }> {
    const { now, seal, store } = this.#options;
    const id = idOf(kind, code.slice(0, slotLength));
    for (;;) {
      const record = await store.readRecord(resourceType, id);
      const stored = record && readCode(record);
      if (record === undefined || stored === undefined) return { refused: "wrong" };
      if (stored.until <= now()) return { refused: "expired" };
      // A used one as well: every attempt is a slow hash, and an entry in the log of the database.
      if (stored.tries >= mostTries) return { refused: "tries" };
      // Counted before it is compared: attempts at the same time count as well.
      const counted = await this.#change(record, { ...stored, tries: stored.tries + 1 });
      if (counted === undefined) continue;
      const salt = Buffer.from(stored.salt, "base64");
      const own = await this.#sealOf(seal, code.slice(slotLength), salt);
      const opened = own.open("code", stored.sealed);
      if (opened === undefined) return { refused: "wrong" };
      if (stored.isUsed) return { refused: "used" };
      if (await this.#markUsed(id, stored.sealed)) return { token: opened.token };
      return { refused: "used" };
    }
  }

  /** True for exactly one caller, over all servers. */
  async #markUsed(id: string, sealed: string): Promise<boolean> {
    for (;;) {
      const record = await this.#options.store.readRecord(resourceType, id);
      const stored = record && readCode(record);
      if (record === undefined || stored?.sealed !== sealed || stored.isUsed) return false;
      if ((await this.#change(record, { ...stored, isUsed: true })) !== undefined) return true;
    }
  }

  async #change(record: ControlRecord, value: StoredCode): Promise<ControlRecord | undefined> {
    const { resourceId, version } = record;
    const change = { resourceType, resourceId, expectedVersion: version, value };
    return this.#write([change]);
  }

  /** Takes a free slot, or that of the code that expires first. */
  async #store(kind: CodeKind, value: StoredCode): Promise<string> {
    const { now, store } = this.#options;
    for (;;) {
      const records = await store.listRecords(resourceType, idOf(kind, ""));
      const over = records.filter((record) => (readCode(record)?.until ?? 0) <= now());
      const free = records.length - over.length < mostCodes ? undefined : oldestOf(records);
      const slot = free?.resourceId.slice(-slotLength) ?? randomLetters(slotLength);
      const taken = records.find(({ resourceId }) => resourceId === idOf(kind, slot));
      if (taken !== undefined && taken !== free && !over.includes(taken)) continue;
      const change = {
        ...{ resourceType, resourceId: idOf(kind, slot), value },
        expectedVersion: taken?.version ?? 0,
      };
      const removed = over
        .filter((record) => record !== taken)
        .map(({ resourceId, version }) => {
          return { resourceType, resourceId, expectedVersion: version, value: null };
        });
      if ((await this.#write([change, ...removed])) !== undefined) return slot;
    }
  }

  /** Writes a code; undefined: another server was faster. */
  async #write(
    changes: Parameters<RecordStore["changeRecords"]>[0],
  ): Promise<ControlRecord | undefined> {
    const written = await this.#options.store.changeRecords(changes, "page").catch(unlessConflict);
    return written?.[0] ?? undefined;
  }

  async #sealOf(seal: PageSeal, secret: string, salt: Buffer): Promise<PageSeal> {
    return seal.with(await derive(secret, salt, 32));
  }
}

/** The kind of a code by its form, and its one spelling; undefined: no stored code looks like this. */
export function readStoredCode(
  text: string,
): { readonly kind: CodeKind; readonly code: string } | undefined {
  if (linkPattern.test(text)) return { kind: "link", code: text };
  if (text.length > 2 * shortLength) return undefined;
  const typed = text.replace(/[\s-]/g, "").toUpperCase().replaceAll("O", "0").replace(/[IL]/g, "1");
  return shortPattern.test(typed) ? { kind: "short", code: typed } : undefined;
}

function idOf(kind: CodeKind, slot: string): string {
  return `${kind}:${slot}`;
}

function oldestOf(records: readonly ControlRecord[]): ControlRecord | undefined {
  return records.toSorted((a, b) => (readCode(a)?.until ?? 0) - (readCode(b)?.until ?? 0))[0];
}

/** Without modulo bias: 256 is a multiple of 32. */
function randomLetters(count: number): string {
  return [...randomBytes(count)].map((byte) => letters[byte % letters.length]).join("");
}

/** Undefined for a damaged record, which no sign-in accepts. */
function readCode({ value }: ControlRecord): StoredCode | undefined {
  const { isUsed, salt, sealed, tries, until } = (value ?? {}) as Partial<StoredCode>;
  if (typeof sealed !== "string" || typeof salt !== "string") return undefined;
  if (typeof until !== "number" || typeof tries !== "number") return undefined;
  return { sealed, salt, until, tries, isUsed: isUsed !== false };
}
