import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { beforeEach, expect, it } from "vitest";
import { checkStore } from "../../events/checker/check-store.ts";
import type { StoredEvent } from "../../events/event.ts";
import { controlRunId, runNumberOf } from "../../ports/identity.ts";
import { assertSound, collect, note, StoredRun } from "../../testing/stored-run.ts";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { SqliteStore } from "./sqlite-store.ts";

let path: string;

beforeEach(() => {
  path = join(testFolder(), "mandate.db");
});

const open = (file = path): SqliteStore =>
  new SqliteStore({ path: file, synchronous: "normal", artifacts: null });

const soon = Date.now() + 1_000_000;
const everything = { finishedBefore: soon, bodiesBefore: soon, actor: "ann", most: 1000 };

async function finishedRun(store: SqliteStore): Promise<StoredRun> {
  const run = await StoredRun.start(store);
  await run.child();
  await run.finish();
  return run;
}

function tamper(sql: string): void {
  const database = new DatabaseSync(path);
  database.exec(sql);
  database.close();
}

it("random runs, pruned at random: the others are the same to the letter, and all of it holds", async () => {
  const step = fc.record({
    run: fc.nat(5),
    what: fc.constantFrom("say", "say", "finish", "prune", "control"),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
      const store = open(":memory:");
      try {
        const runs = await Promise.all(
          Array.from({ length: 6 }, async () => {
            const run = await StoredRun.start(store);
            return { run, id: await run.child(), isOpen: true };
          }),
        );
        const gone = new Set<string>();
        const all: StoredEvent[] = [];
        store.subscribe((events) => all.push(...events));
        const first = await collect(store);
        for (const [index, { run: which, what }] of steps.entries()) {
          const one = runs[which];
          if (one === undefined) continue;
          if (what === "control") await store.noteCommand("/x", "ann", "done");
          else if (what === "prune") {
            const keep = new Set(runs.slice(which).map(({ run }) => run.id));
            const report = await store.prune({ ...everything, keep });
            for (const { runId } of report.runs) gone.add(runId);
          } else if (one.isOpen && what === "say") await one.run.append(note(one.id, `${index}`));
          else if (one.isOpen) {
            await one.run.finish();
            one.isOpen = false;
          }
        }
        const expected = [...first, ...all].filter(({ run_id: runId }) => !gone.has(runId));
        expect(await collect(store)).toEqual(expected);
        await assertSound(store, [...first, ...all]);
        expect((await checkStore(store)).pruned?.runs ?? 0).toBe(gone.size);
      } finally {
        await store.close();
      }
    }),
    { numRuns: 40 },
  );
}, 60_000);

it("a run that was taken out by hand is missed, also beside one that was pruned", async () => {
  const store = open();
  const [pruned, deleted] = [await finishedRun(store), await finishedRun(store)];
  await store.prune({ ...everything, keep: new Set([deleted.id]) });
  await assertSound(store);
  const run = runNumberOf(deleted.id);
  tamper(`DELETE FROM event_batches WHERE run = ${run}; DELETE FROM sub_agents WHERE run = ${run};
          DELETE FROM inbox WHERE run = ${run}; DELETE FROM runs WHERE number = ${run}`);
  const { pruned: sum, violations } = await checkStore(store);
  expect(sum?.runs).toBe(1);
  expect(violations).toMatchObject([
    { invariant: "I1", message: expect.stringContaining("are missing from the log") },
    { invariant: "I8", runId: deleted.id },
  ]);
  expect(pruned.id).not.toBe(deleted.id);
  await store.close();
});

it("a receipt cannot be written by hand, and none is given for a log that does not hold", async () => {
  const store = open();
  const [sound, damaged] = [await finishedRun(store), await finishedRun(store)];
  tamper(`UPDATE event_batches SET events = replace(events, 'test', 'tEst')
          WHERE run = ${runNumberOf(damaged.id)}`);
  const report = await store.prune(everything);
  expect(report.runs.map(({ runId }) => runId)).toEqual([sound.id]);
  expect(report.damaged).toEqual([damaged.id]);
  // Somebody lets the receipt speak of more than was pruned.
  tamper(`UPDATE event_batches SET events = replace(events, '"events":', '"events":1')
          WHERE run = ${runNumberOf(controlRunId)}`);
  const { violations } = await checkStore(store);
  expect(violations.map(({ runId }) => runId)).toContain(controlRunId);
  await store.close();
});

it("what is left of a pruned run, or put back, is noticed", async () => {
  const store = open();
  const run = await finishedRun(store);
  const number = runNumberOf(run.id);
  await store.prune(everything);
  tamper(`INSERT INTO runs (number, task, application, worker, fence, outcome, started_at)
          VALUES (${number}, 't', 'a', 'w', 1, 'failed', 1)`);
  const { violations } = await checkStore(store);
  expect(violations).toMatchObject([{ invariant: "I7", runId: run.id }]);
  await store.close();
});

it("a prompt that was pruned does not come back with what is written next", async () => {
  const store = open();
  for (let count = 0; count < 5; count++) {
    store.keepText(`prompt ${count}`);
    await finishedRun(store);
  }
  const beside = new DatabaseSync(path);
  const countTexts = () => beside.prepare("SELECT count(*) AS count FROM texts").get()?.["count"];
  expect(countTexts()).toBe(5);
  await store.prune(everything);
  await store.noteCommand("/x", "ann", "done");
  expect(countTexts()).toBe(0);
  // One that is used again is there again.
  const hash = store.keepText("prompt 1");
  await store.noteCommand("/x", "ann", "done");
  expect(await store.readText(hash)).toBe("prompt 1");
  beside.close();
  await store.close();
});
