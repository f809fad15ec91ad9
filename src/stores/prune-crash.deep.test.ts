import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { checkStore } from "../events/checker/check-store.ts";
import { controlRunId } from "../ports/identity.ts";
import type { Store } from "../ports/store.ts";
import { dropDatabase, freshDatabase } from "../testing/postgres.test-support.ts";
import { assertSound, collect, note, StoredRun } from "../testing/stored-run.ts";
import { PostgresStore } from "./postgres/postgres-store.ts";
import { startBeside } from "./sqlite/process-beside.test-support.ts";
import { SqliteStore } from "./sqlite/sqlite-store.ts";

const script = new URL("./prune-beside.test-support.ts", import.meta.url);
const finishedRuns = 40;

async function fill(store: Store): Promise<{ readonly open: StoredRun; readonly id: string }> {
  const shared = await store.keepArtifact("shared by all");
  const open = await StoredRun.start(store);
  const id = await open.child();
  await open.append(note(id, shared.hash));
  for (let number = 0; number < finishedRuns; number++) {
    const run = await StoredRun.start(store);
    const own = await store.keepArtifact(`body ${number}`);
    const child = await run.child();
    await run.append(note(child, `${own.hash} ${shared.hash}`));
    // In between, so that the numbers of the runs are mixed.
    await open.append(note(id, String(number)));
    await run.finish();
  }
  return { open, id };
}

async function crashAndPrune(
  place: string,
  artifacts: string,
  open: () => Promise<Store>,
): Promise<void> {
  const first = await open();
  const { id, open: still } = await fill(first);
  const before = await collect(first, { runId: still.id });
  for (const kills of [0, 3, 9]) {
    const beside = startBeside(script, [place, artifacts], () => {
      // Wherever it is by then: reading, in a transaction, or removing bodies.
      const isTime = beside.lines.length > kills;
      if (isTime) setTimeout(() => beside.process.kill("SIGKILL"), 5);
    });
    await beside.ended;
    await still.append(note(id, `after kill ${kills}`));
    const store = await open();
    await assertSound(store);
    for (const { id: runId } of await store.listRuns({ limit: 100 })) {
      for (const event of await collect(store, { runId })) {
        if (event.type !== "agent.interjected") continue;
        const [hash = ""] = /[0-9a-f]{64}/.exec(event.payload.message) ?? [];
        if (hash !== "") expect(await store.readArtifact(hash)).toBeDefined();
      }
    }
    await store.close();
  }
  const last = startBeside(script, [place, artifacts]);
  expect(await last.ended).toBe(0);
  const store = await open();
  expect((await store.listRuns({})).map((row) => row.id)).toEqual([still.id]);
  const { pruned } = await checkStore(store);
  expect(pruned?.runs).toBe(finishedRuns);
  const receipts = await collect(store, { runId: controlRunId });
  expect(new Set(receipts.map(({ payload }) => JSON.stringify(payload))).size).toBe(finishedRuns);
  const after = await collect(store, { runId: still.id });
  expect(after.slice(0, before.length)).toEqual(before);
  await assertSound(store, before);
  await store.close();
  await first.close();
}

describe("who prunes may be killed at any moment, and the next one finishes", () => {
  it("in the embedded database", { timeout: 60_000 }, async () => {
    const folder = mkdtempSync(join(tmpdir(), "mandate-prune-"));
    const path = join(folder, "mandate.db");
    const artifacts = join(folder, "artifacts");
    try {
      const options = { path, artifacts, synchronous: "normal", pollMs: 10 } as const;
      await crashAndPrune(path, artifacts, async () => new SqliteStore(options));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it("on Postgres", { timeout: 120_000 }, async () => {
    const url = await freshDatabase();
    try {
      await crashAndPrune(url, "", () => PostgresStore.open({ url, leaseMs: 1000, pollMs: 50 }));
    } finally {
      await dropDatabase(url);
    }
  });
});
