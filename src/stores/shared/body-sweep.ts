import { numberOf } from "../../ports/identity.ts";
import type { ArtifactStore } from "../../ports/store.ts";

/** The table of which run references which body. The store updates it when needed. */
export interface ReferenceRows {
  lastSeq(): Promise<number>;
  /** The sequence number up to which batches have been searched for references. */
  referencesThrough(): Promise<number>;
  batchesAfter(seq: number, upTo: number, limit: number): Promise<readonly ReferringBatch[]>;
  contractsOf(delegations: readonly number[]): Promise<readonly string[]>;
  textHashes(): Promise<readonly string[]>;
  addReferences(
    references: readonly (readonly [hash: string, run: number])[],
    through: number,
  ): Promise<void>;
  referredTo(hashes: readonly string[]): Promise<ReadonlySet<string>>;
  /** The texts of memories and records, which reference bodies without an event. */
  textsOutsideLog(): AsyncIterable<string>;
}

export interface ReferringBatch {
  readonly first_seq: number;
  readonly run: number;
  readonly events: string;
}

/** The bodies that were stored, and the event up to which references to them were collected. */
export interface ListedBodies {
  readonly through: number;
  readonly artifacts: ReadonlyMap<string, number>;
}

const batchesAtOnce = 200;

/**
 * Searches the batches that were added since the last call for references to bodies. A body is
 * durable before the event that names it, so a list of bodies that is made after reading the last
 * sequence number contains every body named up to it.
 */
export async function keepUpReferences(
  rows: ReferenceRows,
  artifacts: ArtifactStore,
): Promise<ListedBodies> {
  const through = await rows.lastSeq();
  const kept = new Map<string, number>();
  for await (const { hash, keptAt } of artifacts.list()) kept.set(hash, keptAt);
  const texts = new Set(await rows.textHashes());
  for (let after = await rows.referencesThrough(); after < through; ) {
    const batches = await rows.batchesAfter(after, through, batchesAtOnce);
    const references = new Map<string, readonly [string, number]>();
    for (const { events, run } of batches) {
      const contracts = await rows.contractsOf(createdIn(events));
      for (const hash of [events, ...contracts].flatMap(hashesIn)) {
        if (kept.has(hash) || texts.has(hash)) references.set(`${hash} ${run}`, [hash, run]);
      }
    }
    const isEnd = batches.length < batchesAtOnce;
    after = isEnd ? through : (batches.at(-1)?.first_seq ?? through);
    await rows.addReferences([...references.values()], after);
  }
  return { through, artifacts: kept };
}

/** Removes bodies that nothing references, unless they were kept recently. */
export async function sweepArtifacts(
  rows: ReferenceRows,
  artifacts: ArtifactStore,
  { artifacts: listed, through }: ListedBodies,
  keptBefore: number,
): Promise<number> {
  const loose = new Set<string>();
  for (const [hash, keptAt] of listed) if (keptAt < keptBefore) loose.add(hash);
  if (loose.size === 0) return 0;
  for (const hash of await rows.referredTo([...loose])) loose.delete(hash);
  if (loose.size === 0) return 0;
  for await (const text of rows.textsOutsideLog())
    for (const hash of hashesIn(text)) loose.delete(hash);
  for (const hash of await hashesSince(rows, through)) loose.delete(hash);
  let removed = 0;
  for (const hash of loose) if (await artifacts.remove(hash, keptBefore)) removed++;
  return removed;
}

async function hashesSince(rows: ReferenceRows, through: number): Promise<readonly string[]> {
  const found: string[] = [];
  for (let after = through; ; ) {
    const batches = await rows.batchesAfter(after, Number.MAX_SAFE_INTEGER, batchesAtOnce);
    const contracts = await rows.contractsOf(batches.flatMap(({ events }) => createdIn(events)));
    found.push(...[...batches.map(({ events }) => events), ...contracts].flatMap(hashesIn));
    if (batches.length < batchesAtOnce) return found;
    after = batches.at(-1)?.first_seq ?? after;
  }
}

/**
 * Everything in a stored text that could be the hash of a body. The whole text is searched, not
 * known fields, so that a body that is referenced in an unexpected way is kept.
 */
export function hashesIn(text: string): readonly string[] {
  return text.match(/(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])/g) ?? [];
}

/** The delegations that a batch of events creates: their contracts reference bodies as well. */
export function createdIn(events: string): readonly number[] {
  // Inside a payload the quotation marks would be escaped.
  return [...events.matchAll(/\["agent\.subagent_created","([0-9a-f]+)",/g)].flatMap(
    ([, id = ""]) => numberOf(id) ?? [],
  );
}

/** The delegations of earlier runs that the delegations of a batch resume. */
export function resumedFromIn(events: string): readonly string[] {
  return [...events.matchAll(/[{,]"resumed_from":"([0-9a-f]+)"/g)].map(([, id = ""]) => id);
}
