import { createCipheriv, createDecipheriv, createHmac, randomBytes } from "node:crypto";

/** The kind is sealed in: a stored sign-in code cannot be used as a session. */
export type SealedKind = "code" | "session";

export interface Sealed {
  /** The access token of the session. */
  readonly token: string;
  /** The end of validity, in milliseconds since 1970. */
  readonly until: number;
}

const version = 1;
const nonceBytes = 12;
const tagBytes = 16;
const timeBytes = 8;

/** Above the longest sealed text: tokens have at most 512 characters. */
export const mostSealedCharacters = 1000;

/**
 * Encrypts sessions and stored codes (AES-256-GCM), so that every server with the same key can open
 * them. Their holder can neither read nor change them.
 */
export class PageSeal {
  readonly #key: Buffer;

  constructor(key: Buffer) {
    this.#key = key;
  }

  /** A name that is the same for all servers with this key, and reveals nothing about the key. */
  get name(): string {
    return createHmac("sha256", this.#key).update("mandate page name").digest("hex").slice(0, 12);
  }

  /** A seal that opens only with this key and this secret together. */
  with(secret: Buffer): PageSeal {
    const key = createHmac("sha256", this.#key).update("mandate page secret").update(secret);
    return new PageSeal(key.digest());
  }

  seal(kind: SealedKind, { token, until }: Sealed): string {
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv("aes-256-gcm", this.#key, nonce).setAAD(contextOf(kind));
    const time = Buffer.alloc(timeBytes);
    time.writeDoubleBE(until);
    const hidden = [cipher.update(time), cipher.update(token, "utf8"), cipher.final()];
    const parts = [Buffer.of(version), nonce, ...hidden, cipher.getAuthTag()];
    return Buffer.concat(parts).toString("base64url");
  }

  /** Undefined for everything that was not sealed with this kind and key. */
  open(kind: SealedKind, text: string): Sealed | undefined {
    if (text.length > mostSealedCharacters) return undefined;
    const bytes = Buffer.from(text, "base64url");
    // Each sealed text has one spelling: used codes and ended sessions are recognized by their
    // text.
    if (bytes.toString("base64url") !== text) return undefined;
    if (bytes[0] !== version || bytes.length < 1 + nonceBytes + timeBytes + tagBytes) {
      return undefined;
    }
    const nonce = bytes.subarray(1, 1 + nonceBytes);
    const tag = bytes.subarray(bytes.length - tagBytes);
    const decipher = createDecipheriv("aes-256-gcm", this.#key, nonce, { authTagLength: tagBytes })
      .setAAD(contextOf(kind))
      .setAuthTag(tag);
    try {
      const hidden = bytes.subarray(1 + nonceBytes, bytes.length - tagBytes);
      const plain = Buffer.concat([decipher.update(hidden), decipher.final()]);
      return { until: plain.readDoubleBE(0), token: plain.toString("utf8", timeBytes) };
    } catch {
      return undefined;
    }
  }
}

function contextOf(kind: SealedKind): Buffer {
  return Buffer.from(`mandate page ${kind} ${version}`);
}
