import { readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { sha256 } from "../../events/hash-chain.ts";
import { isTemporary, writeDurably } from "../../files.ts";
import type { Clock } from "../../ports/clock.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { ArtifactStore } from "../../ports/store.ts";

/** Bodies that are too large for the log, in files named by their hash. */
export class ArtifactFolder implements ArtifactStore {
  readonly #folder: string | null;
  readonly #clock: Clock;
  readonly #memory = new Map<string, { readonly body: string; readonly keptAt: number }>();

  constructor(folder: string | null, clock: Clock) {
    this.#folder = folder;
    this.#clock = clock;
  }

  async keep(body: string): Promise<{ hash: string; bytes: number }> {
    const hash = sha256(body);
    const kept = { hash, bytes: Buffer.byteLength(body) };
    if (this.#folder === null) {
      this.#memory.set(hash, { body, keptAt: this.#clock.now() });
      return kept;
    }
    try {
      // The artifact must be durable before the event that names it.
      await writeDurably(this.#pathOf(this.#folder, hash), body);
    } catch (error) {
      throw storageError(error);
    }
    return kept;
  }

  async read(hash: string): Promise<string | undefined> {
    if (!isHash(hash)) return undefined;
    if (this.#folder === null) return this.#memory.get(hash)?.body;
    try {
      return await readFile(this.#pathOf(this.#folder, hash), "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
  }

  async *list(): AsyncGenerator<{ hash: string; keptAt: number }> {
    if (this.#folder === null) {
      for (const [hash, { keptAt }] of this.#memory) yield { hash, keptAt };
      return;
    }
    for (const part of await namesIn(this.#folder)) {
      for (const hash of await namesIn(join(this.#folder, part))) {
        if (!isHash(hash)) continue;
        const keptAt = await modifiedAt(this.#pathOf(this.#folder, hash));
        if (keptAt !== undefined) yield { hash, keptAt };
      }
    }
  }

  async remove(hash: string, keptBefore: number): Promise<boolean> {
    if (!isHash(hash)) return false;
    const folder = this.#folder;
    const keptAt =
      folder === null
        ? this.#memory.get(hash)?.keptAt
        : await modifiedAt(this.#pathOf(folder, hash));
    if (keptAt === undefined || keptAt >= keptBefore) return false;
    if (folder === null) this.#memory.delete(hash);
    else await rm(this.#pathOf(folder, hash), { force: true });
    return true;
  }

  async removeTorn(begunBefore: number): Promise<void> {
    if (this.#folder === null) return;
    for (const part of await namesIn(this.#folder)) {
      for (const name of await namesIn(join(this.#folder, part))) {
        if (!isTemporary(name) || !isHash(name.slice(0, 64))) continue;
        const path = join(this.#folder, part, name);
        const writtenAt = await modifiedAt(path);
        if (writtenAt !== undefined && writtenAt < begunBefore) await rm(path, { force: true });
      }
    }
  }

  #pathOf(folder: string, hash: string): string {
    return join(folder, hash.slice(0, 2), hash);
  }
}

/** Translates a full disk into a `MandateError`. */
function storageError(error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== "ENOSPC" && code !== "EDQUOT") return error;
  const message = "The disk that holds the artifacts is full. Make room on it.";
  return new MandateError("storage-full", message, { cause: error });
}

function isHash(name: string): boolean {
  return /^[0-9a-f]{64}$/.test(name);
}

/** The last time a body was kept: keeping it again replaces the file. */
async function modifiedAt(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).mtimeMs;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return [];
    throw error;
  }
}
