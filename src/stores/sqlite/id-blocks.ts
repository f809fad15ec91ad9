import type { DatabaseSync } from "node:sqlite";

/**
 * Takes numbers from the store in blocks, so that a new id costs no write. A process that dies
 * leaves a gap; ids are unique, not dense. Blocks grow with use: listing runs reserves none.
 */
export function idBlocks(database: DatabaseSync): () => number {
  let next = 0;
  let end = 0;
  let size = 256;
  return () => {
    if (next === end) {
      size = Math.min(size * 2, 4096);
      const row = database
        .prepare("UPDATE meta SET value = value + ? WHERE key = 'next_id' RETURNING value")
        .get(size);
      end = Number(row?.["value"]);
      // Zero is the control log's.
      next = Math.max(1, end - size);
    }
    return next++;
  };
}
