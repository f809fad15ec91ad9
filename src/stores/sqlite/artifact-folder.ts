import { mkdir, open, readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { sha256 } from "../../events/hash-chain.ts";
import type { ArtifactStore } from "../../ports/artifact-store.ts";

/** Bodies too large for the log, named by their hash, so that keeping one twice is keeping it once. */
export class ArtifactFolder implements ArtifactStore {
  readonly #folder: string | null;
  readonly #memory = new Map<string, string>();

  constructor(folder: string | null) {
    this.#folder = folder;
  }

  async keep(body: string): Promise<{ hash: string; bytes: number }> {
    const hash = sha256(body);
    const kept = { hash, bytes: Buffer.byteLength(body) };
    if (this.#folder === null) {
      this.#memory.set(hash, body);
      return kept;
    }
    const path = this.#pathOf(this.#folder, hash);
    await mkdir(join(path, ".."), { recursive: true, mode: 0o700 });
    const temporary = `${path}.${process.pid}.${Math.random().toString(36).slice(2)}`;
    const file = await open(temporary, "wx", 0o600);
    try {
      await file.writeFile(body);
      // The event that names this artifact must never be more durable than the artifact.
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
    return kept;
  }

  async read(hash: string): Promise<string | undefined> {
    if (!/^[0-9a-f]{64}$/.test(hash)) return undefined;
    if (this.#folder === null) return this.#memory.get(hash);
    try {
      return await readFile(this.#pathOf(this.#folder, hash), "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
  }

  #pathOf(folder: string, hash: string): string {
    return join(folder, hash.slice(0, 2), hash);
  }
}
