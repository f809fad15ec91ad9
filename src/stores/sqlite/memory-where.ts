import { runNumberOf } from "../../ports/identity.ts";
import type { MemoryPlace, MemoryQuery } from "../../ports/memory-store.ts";
import { memorySql } from "../shared/memory-row.ts";

const { isSuperseded } = memorySql();

export interface SqlCondition {
  readonly sql: string;
  readonly values: readonly (string | number | null)[];
}

/** What a query asks for in addition to its words. */
export function whereOf({ all, near, tags = [] }: MemoryQuery): readonly SqlCondition[] {
  return [
    ...(near === undefined ? [] : [couldConcern(near)]),
    ...(all === true ? [] : [{ sql: `f.version IS NULL AND NOT (${isSuperseded})`, values: [] }]),
    ...tags.map((tag) => ({
      sql: "? IN (SELECT value FROM json_each(m.tags))",
      values: [tag],
    })),
  ];
}

/** Leaves away what is surely not for this reader; the caller decides about the rest. */
function couldConcern({ formerly, runId, workspace }: MemoryPlace): SqlCondition {
  return {
    sql: `((m.scope = 'shared' OR p.version IS NOT NULL)
             AND (m.workspace IS NULL OR m.workspace = ?))
          OR m.run = ? OR m.sub_agent_id IN (SELECT value FROM json_each(?))`,
    values: [workspace, runNumberOf(runId) ?? -1, JSON.stringify(formerly)],
  };
}

/** Any of these, as it stands, in the text or the tags. */
export function matchInTexts(parts: readonly string[]): SqlCondition {
  const pattern = (part: string): string =>
    `%${part.slice(0, 200).replaceAll(/[\\%_]/g, (character) => `\\${character}`)}%`;
  return {
    sql: parts.map(() => "(m.text || ' ' || m.tags) LIKE ? ESCAPE '\\'").join(" OR "),
    values: parts.map(pattern),
  };
}
