import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, it } from "vitest";
import { checkStore } from "../../events/checker/check-store.ts";
import { controlRunId } from "../../ports/identity.ts";
import type { RecordChange } from "../../ports/record-store.ts";
import { change, collect } from "../../testing/stored-run.ts";
import { SqliteStore } from "./sqlite-store.ts";

interface Kept {
  /** 0 when it was deleted. */
  readonly version: number;
  readonly last: number;
  readonly value: unknown;
}

/** The promise of the port, in memory: what is stored after the changes, undefined if refused. */
function changed(
  records: ReadonlyMap<string, Kept>,
  changes: readonly RecordChange[],
): Map<string, Kept> | undefined {
  const next = new Map(records);
  for (const { resourceId, expectedVersion, value } of changes) {
    const kept = records.get(resourceId) ?? { version: 0, last: 0, value: null };
    if (kept.version !== expectedVersion) return undefined;
    const last = kept.last + 1;
    next.set(resourceId, { version: value === null ? 0 : last, last, value });
  }
  return next;
}

const ids = ["a", "b", "c"];

/** Mostly right about the version, and sometimes one beside it. */
const step = fc.record({
  process: fc.nat(1),
  changes: fc.uniqueArray(
    fc.record({
      id: fc.constantFrom(...ids),
      error: fc.constantFrom(0, 0, 0, 0, 0, 1, -1),
      value: fc.option(fc.jsonValue(), { freq: 3, nil: null }),
    }),
    { selector: ({ id }) => id, minLength: 1 },
  ),
});

it("records are what the changes that were not refused made of them, in whichever process", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const folder = mkdtempSync(join(tmpdir(), "mandate-model-"));
      const path = join(folder, "mandate.db");
      const open = () => new SqliteStore({ path, synchronous: "normal", artifacts: null });
      const stores = [open(), open()] as const;
      try {
        let model = new Map<string, Kept>();
        let events = 0;
        for (const { process, changes } of steps) {
          const asked = changes
            .map(({ id, error, value }) => {
              const version = Math.max(0, (model.get(id)?.version ?? 0) + error);
              return change(id, version, version === 0 ? (value ?? 0) : value);
            })
            .toSorted((left, right) => (left.resourceId < right.resourceId ? -1 : 1));
          const next = changed(model, asked);
          const outcome = await stores[process === 0 ? 0 : 1].changeRecords(asked, "model").then(
            (records) => records.map((record) => record?.version ?? 0),
            (error: { code: string }) => error.code,
          );
          expect(outcome).toEqual(
            next ? asked.map(({ resourceId }) => next.get(resourceId)?.version) : "conflict",
          );
          if (next) events += asked.length;
          model = next ?? model;
        }
        for (const store of stores) {
          for (const id of ids) {
            const kept = model.get(id);
            const record = await store.readRecord("policy", id);
            expect(record?.version ?? 0).toBe(kept?.version ?? 0);
            if (record) expect(JSON.stringify(record.value)).toBe(JSON.stringify(kept?.value));
          }
          expect(await collect(store, { runId: controlRunId })).toHaveLength(events);
          expect((await checkStore(store)).violations).toEqual([]);
        }
      } finally {
        for (const store of stores) await store.close();
        rmSync(folder, { recursive: true, force: true });
      }
    }),
    { numRuns: 40 },
  );
});
