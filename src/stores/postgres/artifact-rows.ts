import { sha256 } from "../../events/hash-chain.ts";
import type { ArtifactStore } from "../../ports/store.ts";
import type { Database } from "./database.ts";

/** Bodies that are too large for the log, in a table. */
export class ArtifactRows implements ArtifactStore {
  readonly #database: Database;
  readonly #table: string;

  constructor(database: Database) {
    this.#database = database;
    this.#table = `${database.schema.quoted}.artifacts`;
  }

  async keep(body: string): Promise<{ hash: string; bytes: number }> {
    const hash = sha256(body);
    // Half of a surrogate pair is lost in UTF-8.
    const encoding = body.isWellFormed() ? "utf8" : "utf16le";
    await this.#database.query({
      text: `INSERT INTO ${this.#table} (hash, encoding, bytes) VALUES ($1, $2, $3) ON CONFLICT (hash) DO UPDATE SET kept_at = now()`,
      values: [hash, encoding, Buffer.from(body, encoding)],
    });
    return { hash, bytes: Buffer.byteLength(body) };
  }

  async read(hash: string): Promise<string | undefined> {
    if (!/^[0-9a-f]{64}$/.test(hash)) return undefined;
    const [row] = await this.#database.query({
      text: `SELECT encoding, bytes FROM ${this.#table} WHERE hash = $1`,
      values: [hash],
    });
    if (row === undefined) return undefined;
    const encoding = row["encoding"] === "utf16le" ? "utf16le" : "utf8";
    return (row["bytes"] as Buffer).toString(encoding);
  }

  async *list(): AsyncGenerator<{ hash: string; keptAt: number }> {
    for (let after = ""; ; ) {
      const rows = await this.#database.query({
        text: `SELECT hash, extract(epoch FROM kept_at)::float8 * 1000 AS kept_at FROM ${this.#table}
               WHERE hash > $1 ORDER BY hash LIMIT ${pageSize}`,
        values: [after],
      });
      for (const row of rows) {
        after = String(row["hash"]);
        yield { hash: after, keptAt: Number(row["kept_at"]) };
      }
      if (rows.length < pageSize) return;
    }
  }

  async remove(hash: string, keptBefore: number): Promise<boolean> {
    const rows = await this.#database.query({
      text: `DELETE FROM ${this.#table} WHERE hash = $1 AND kept_at < to_timestamp($2 / 1000.0) RETURNING 1`,
      values: [hash, keptBefore],
    });
    return rows.length > 0;
  }
}

const pageSize = 5_000;
