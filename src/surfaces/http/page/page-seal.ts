import { createCipheriv, createDecipheriv, createHmac, randomBytes } from "node:crypto";

/** What a sealed text is: one cannot be presented as the other. */
export type SealedKind = "code" | "session";

export interface Sealed {
  /** The access token that it stands for. */
  readonly token: string;
  /** Milliseconds since 1970. */
  readonly until: number;
}

const version = 1;
const nonceBytes = 12;
const tagBytes = 16;
const timeBytes = 8;

/** The longest that a text can be which we sealed: tokens have at most 512 characters. */
export const mostSealedCharacters = 1000;

/**
 * Texts that carry what they stand for, so that any server with the same key understands them and
 * none has to remember them. Whoever has one can neither read nor change it.
 */
export class PageSeal {
  readonly #key: Buffer;

  constructor(key: Buffer = randomBytes(32)) {
    this.#key = key;
  }

  /** Tells servers with this key from others, and says nothing about it. */
  get name(): string {
    return createHmac("sha256", this.#key).update("mandate page name").digest("hex").slice(0, 12);
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

  /** Undefined for whatever was not sealed as this kind under this key. */
  open(kind: SealedKind, text: string): Sealed | undefined {
    if (text.length > mostSealedCharacters) return undefined;
    const bytes = Buffer.from(text, "base64url");
    // One spelling for each: what was used or ended is known by its text.
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
