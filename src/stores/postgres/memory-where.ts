import { runNumberOf } from "../../ports/identity.ts";
import type { MemoryPlace, MemoryQuery } from "../../ports/memory-store.ts";
import type { MemorySql } from "../shared/memory-row.ts";
import { encodeOrNull, encodeText } from "./stored-text.ts";

/** Conditions and their values, which are numbered as they come. */
export class MemoryConditions {
  readonly values: unknown[] = [];
  readonly #conditions: string[] = [];

  constructor({ all, near, tags = [] }: MemoryQuery, { isSuperseded }: MemorySql) {
    if (near !== undefined) this.#nearby(near);
    if (all !== true) this.#conditions.push(`f.version IS NULL AND NOT (${isSuperseded})`);
    if (tags.length > 0) {
      this.#conditions.push(`m.tag_list @> ${this.value(tags.map(encodeText))}::text[]`);
    }
  }

  get sql(): string {
    return this.#conditions.map((condition) => `(${condition})`).join(" AND ") || "true";
  }

  value(value: unknown): string {
    this.values.push(value);
    return `$${this.values.length}`;
  }

  /** Any of these, as it stands, in the text or the tags. */
  containAny(parts: readonly string[]): this {
    const patterns = parts.map(
      (part) => `%${encodeText(part.slice(0, 200)).replaceAll(/[\\%_]/g, "\\$&")}%`,
    );
    this.#conditions.push(`(m.text || ' ' || m.tags) ILIKE ANY (${this.value(patterns)}::text[])`);
    return this;
  }

  /** What matches any of the words; longer ones also where a word only begins with them. */
  haveWords(words: readonly string[]): string {
    const asAsked = (word: string): string => (word.length < 4 ? `'${word}'` : `'${word}':*`);
    const query = `${this.value(words.map(asAsked).join(" | "))}::tsquery`;
    this.#conditions.push(`m.words @@ ${query}`);
    return query;
  }

  /** Leaves away what is surely not for this reader; of what is left, whoever asks decides. */
  #nearby({ formerly, runId, workspace }: MemoryPlace): void {
    const [here, run, before] = [
      this.value(encodeOrNull(workspace)),
      this.value(runNumberOf(runId) ?? -1),
      this.value(formerly.map(encodeText)),
    ];
    this.#conditions.push(
      `((m.scope = 'shared' OR p.version IS NOT NULL) AND (m.workspace IS NULL OR m.workspace = ${here}::text))
       OR m.run = ${run}::bigint OR m.sub_agent_id = ANY(${before}::text[])`,
    );
  }
}
