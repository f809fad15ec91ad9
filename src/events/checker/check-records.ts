import type { StoredRecord } from "../../ports/inspection.ts";
import type { Store } from "../../ports/store.ts";
import type { StoredEvent } from "../event.ts";
import { sha256 } from "../hash-chain.ts";
import type { Report } from "./check-report.ts";

/** What the last event of a record says. */
interface Told {
  readonly version: number;
  readonly hash: string | null;
  readonly by: string;
  readonly at: number;
  readonly seq: number;
  /** One of its events did not follow from the one before; no further conclusion is drawn from them. */
  readonly isBroken: boolean;
}

/**
 * I1: the versions of a record follow each other, and each change begins where the one before ended.
 * I7: what is stored of a record is what its last event says, also that it was deleted. I15: so does
 * the store's own answer.
 */
export class RecordsCheck {
  readonly #report: Report;
  readonly #told = new Map<string, Told>();

  constructor(report: Report) {
    this.#report = report;
  }

  see({ at, payload, seq }: StoredEvent<"control.record_changed">): void {
    const { record, version, actor, before_hash: before, after_hash: hash } = payload;
    const last = this.#told.get(record);
    const problem = stepProblem(last, version, before, hash);
    const isBroken = last?.isBroken || problem !== undefined;
    if (problem && !last?.isBroken) this.#report("I1", `${record}: ${problem}`, { seq });
    this.#told.set(record, { version, hash, by: actor, at, seq, isBroken });
  }

  async compare(record: StoredRecord, store: Store): Promise<void> {
    const { resourceType, resourceId } = record;
    const name = `${resourceType}/${resourceId}`;
    const told = this.#told.get(name);
    this.#told.delete(name);
    if (told?.isBroken) return;
    const problem = rowProblem(record, told);
    if (problem) this.#report("I7", `${name}: ${problem}`, told && { seq: told.seq });
    else if (record.now !== null && !(await isTold(record, record.now, store))) {
      this.#report("I15", `${name}: the store tells another value of it than the log.`);
    }
  }

  /** Of every id that the log has, something is stored: its version, if nothing else. */
  end(): void {
    for (const [name, { isBroken, seq }] of this.#told) {
      if (!isBroken) this.#report("I7", `${name}: the log has it, and it is not stored.`, { seq });
    }
  }
}

function stepProblem(
  last: Told | undefined,
  version: number,
  before: string | null,
  after: string | null,
): string | undefined {
  const expected = (last?.version ?? 0) + 1;
  if (version !== expected) return `version ${version} stands where ${expected} belongs.`;
  if (before !== (last?.hash ?? null)) {
    return `what was there before version ${version} is not what the version before left.`;
  }
  return before === null && after === null ? "it is deleted, and was not there." : undefined;
}

function rowProblem({ now, lastVersion }: StoredRecord, told: Told | undefined) {
  if (told === undefined) return "it is stored, and the log does not have it.";
  if (lastVersion !== told.version) {
    return `version ${lastVersion} is remembered as its last one; by the log it is ${told.version}.`;
  }
  if (told.hash === null) return now === null ? undefined : "it is stored, and was deleted.";
  if (now === null) return "it is not stored, and no event deleted it.";
  if (now.version !== told.version) {
    return `it is stored at version ${now.version}; by the log it is at ${told.version}.`;
  }
  if (sha256(now.text) !== told.hash) return "its stored value is not the one in the log.";
  const isSame = now.updatedBy === told.by && now.updatedAt === told.at;
  return isSame ? undefined : "who changed it, or when, is stored otherwise than in the log.";
}

async function isTold(
  { resourceType, resourceId }: StoredRecord,
  { text, version }: NonNullable<StoredRecord["now"]>,
  store: Store,
): Promise<boolean> {
  const told = await store.readRecord(resourceType, resourceId);
  // It has moved on since the rows were read: there is nothing to compare.
  if (told === undefined || told.version > version) return true;
  return told.version === version && JSON.stringify(told.value) === text;
}
