import { ownerOf } from "../../events/check-owner.ts";
import type { RunState } from "../../events/run-state.ts";
import { memoryIdOf, runIdOf, runNumberOf } from "../../ports/identity.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import {
  type Memory,
  type MemoryMark,
  memoryMarks,
  type NewMemory,
} from "../../ports/memory-store.ts";

/** SQL for reading memories. */
export interface MemorySql {
  /** A memory `m` with a person's decisions about it: `p` promoted, `f` forgotten. */
  readonly tables: string;
  readonly isSuperseded: string;
  readonly columns: string;
}

export function memorySql(place = ""): MemorySql {
  const tables = `${place}memories m
  LEFT JOIN ${place}records p ON p.resource_type = '${memoryMarks.promoted}' AND p.resource_id = m.id
  LEFT JOIN ${place}records f ON f.resource_type = '${memoryMarks.forgotten}' AND f.resource_id = m.id`;
  // A later memory in the same slot replaces this one, unless the later one was forgotten. A memory
  // that a person promoted is never replaced by an agent.
  const isSuperseded = `p.version IS NULL AND m.slot IS NOT NULL AND EXISTS (
  SELECT 1 FROM ${place}memories n WHERE n.slot = m.slot AND n.number > m.number AND NOT EXISTS (
    SELECT 1 FROM ${place}records WHERE resource_type = '${memoryMarks.forgotten}' AND resource_id = n.id))`;
  const columns = `m.*, ${isSuperseded} AS is_superseded, p.updated_by AS promoted_by,
  p.updated_at AS promoted_at, f.updated_by AS forgotten_by, f.updated_at AS forgotten_at`;
  return { tables, isSuperseded, columns };
}

/** The worker that owns a delegation of a distributed run, from the state in memory. */
export function claimerOf(run: RunState | undefined, id: string): string | undefined {
  return run?.spread ? ownerOf(run, id).worker : undefined;
}

/**
 * Throws unless this worker may save a memory for the delegation, according to the stored state.
 */
export function requireMaySave(
  { delegationId, runId }: NewMemory,
  standing: Readonly<Record<string, unknown>> | undefined,
  isOurs: (worker: unknown) => boolean,
  claimer: string | undefined,
): void {
  if (standing === undefined) {
    throw new MandateError("unknown-delegation", `Run ${runId} has no delegation ${delegationId}.`);
  }
  if (!isOurs(claimer ?? standing["worker"])) {
    throw new MandateError("fenced", `Run ${runId} is now owned by another process.`);
  }
  if (standing["status"] === "closed") {
    throw new MandateError("illegal-transition", `Delegation ${delegationId} is closed.`);
  }
}

interface MemoryPosition {
  readonly number: number;
  readonly slot: string | null;
  readonly supersedes: string | null;
  readonly createdAt: number;
}

/** In the order of the columns. */
export function memoryValuesOf(
  memory: NewMemory,
  { createdAt, number, slot, supersedes }: MemoryPosition,
): readonly (string | number | null)[] {
  const { callId, delegationId, key, lineage, profile, scope, tags, text, workspace } = memory;
  return [
    ...[number, memoryIdOf(number), runNumberOf(memory.runId) ?? -1, delegationId, callId],
    ...[JSON.stringify(lineage), profile, workspace, scope, key, slot],
    ...[JSON.stringify(tags), text, supersedes, createdAt],
  ];
}

export function memoryOf(row: Readonly<Record<string, unknown>>): Memory {
  return {
    id: String(row["id"]),
    text: String(row["text"]),
    tags: listOf(row["tags"]),
    key: textOrNull(row["key"]),
    // An unknown scope is treated as not shared.
    scope: row["scope"] === "shared" ? "shared" : "delegated",
    workspace: textOrNull(row["workspace"]),
    runId: runIdOf(Number(row["run"])),
    delegationId: String(row["sub_agent_id"]),
    callId: String(row["call_id"]),
    lineage: listOf(row["lineage"]),
    profile: String(row["profile"]),
    createdAt: Number(row["created_at"]),
    supersedes: textOrNull(row["supersedes"]),
    isSuperseded: Boolean(row["is_superseded"]),
    promoted: markOf(row["promoted_by"], row["promoted_at"]),
    forgotten: markOf(row["forgotten_by"], row["forgotten_at"]),
  };
}

function markOf(by: unknown, at: unknown): MemoryMark | null {
  return by === null ? null : { by: String(by), at: Number(at) };
}

function listOf(json: unknown): readonly string[] {
  const list: unknown = JSON.parse(String(json));
  return Array.isArray(list) ? list.map(String) : [];
}

function textOrNull(value: unknown): string | null {
  return value === null ? null : String(value);
}

/** Queries come from models: only this much of one is used. */
const mostWords = 16;
const longestWord = 64;

/** The distinct words of a query, in lower case and without punctuation. */
export function wordsOf(query: string): readonly string[] {
  const words = query
    .slice(0, 10_000)
    .normalize("NFKC")
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu);
  return [...new Set(words ?? [])].slice(0, mostWords).map((word) => word.slice(0, longestWord));
}

/** All words of a text in order, in lower case and without accents. */
export function foldWords(text: string): readonly string[] {
  const words = text
    .normalize("NFKD")
    .replaceAll(/\p{M}/gu, "")
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu);
  return (words ?? []).map((word) => word.slice(0, longestWord));
}
