import { expect, onTestFinished, test } from "vitest";
import { controlRunId } from "../ports/identity.ts";
import type { NewMemory } from "../ports/memory-store.ts";
import { SqliteStore } from "../stores/sqlite/sqlite-store.ts";
import { assertSound, collect, refused, StoredRun } from "../testing/stored-run.ts";
import { Memories } from "./memories.ts";

const ann = { id: "ann", role: "operator" } as const;

async function open() {
  const store = new SqliteStore({ path: ":memory:", synchronous: "normal", artifacts: null });
  onTestFinished(() => store.close());
  const run = await StoredRun.start(store);
  const delegationId = await run.child();
  let calls = 0;
  return {
    store,
    memories: new Memories(store, ann),
    async save(text: string, more: Partial<NewMemory> = {}): Promise<string> {
      const about = { runId: run.id, delegationId, lineage: [delegationId], profile: "tester" };
      const kind = { tags: [], key: null, scope: "delegated", workspace: "/work" } as const;
      const memory = { ...about, ...kind, text, callId: `c${++calls}`, ...more };
      const outcome = await store.memories.save(memory, 1000);
      return outcome.saved ? outcome.memory.id : "";
    },
    async log(): Promise<readonly unknown[]> {
      const events = await collect(store, { runId: controlRunId });
      return events.map(({ type, payload }) =>
        type === "command.executed" ? payload : (payload as { record: string }).record,
      );
    },
  };
}

test("promoting and forgetting are in the control log, and change no memory", async () => {
  const { log, memories, save, store } = await open();
  const id = await save("The port is 8080.");
  const before = await memories.show(id);
  expect((await memories.promote(id)).status).toBe("promoted");
  expect((await memories.forget(id)).status).toBe("forgotten");
  const after = await memories.show(id);
  expect(after).toEqual({
    ...before,
    promoted: { by: "ann", at: expect.any(Number) },
    forgotten: { by: "ann", at: expect.any(Number) },
  });
  expect(await log()).toEqual([
    `memory-promoted/${id}`,
    { command: `memory promote "${id}"`, actor: "ann", outcome: "promoted" },
    `memory-forgotten/${id}`,
    { command: `memory forget "${id}"`, actor: "ann", outcome: "forgotten" },
  ]);
  await assertSound(store);
});

test("deciding the same again changes nothing, also for two at once", async () => {
  const { memories, save } = await open();
  const id = await save("x");
  const both = await Promise.all([memories.promote(id), memories.promote(id)]);
  expect(both.map(({ status }) => status).toSorted()).toEqual(["promoted", "unchanged"]);
  await memories.forget(id);
  expect((await memories.forget(id)).status).toBe("unchanged");
  const shared = await save("y", { scope: "shared" });
  expect((await memories.promote(shared)).status).toBe("unchanged");
});

test("what was forgotten is not promoted any more", async () => {
  const { memories, save } = await open();
  const id = await save("x");
  await memories.forget(id);
  await refused(memories.promote(id), "already-terminal");
  expect((await memories.show(id)).promoted).toBeNull();
});

test("who may only look decides nothing, and that is written down as well", async () => {
  const { log, memories, save, store } = await open();
  const id = await save("x");
  const viewer = new Memories(store, { id: "vera", role: "viewer" });
  expect(await viewer.list()).toHaveLength(1);
  await refused(viewer.promote(id), "refused-by-policy");
  await refused(viewer.forget(id), "refused-by-policy");
  expect(await memories.show(id)).toMatchObject({ promoted: null, forgotten: null });
  expect(await log()).toMatchObject([{ outcome: "refused" }, { outcome: "refused" }]);
});

test("an id that is none is an error that says where ids are", async () => {
  const { log, memories } = await open();
  for (const id of ["m000000", "", "../x", "m'; DROP TABLE memories"]) {
    await refused(memories.forget(id), "unknown-memory");
  }
  await expect(memories.show("zz")).rejects.toThrow(/`mandate memory list` has them/);
  expect(await log()).toHaveLength(4);
});

test("a list is the latest first, by words or tags, without what is gone unless all is asked for", async () => {
  const { memories, save } = await open();
  const first = await save("alpha", { key: "k" });
  const second = await save("beta", { key: "k", tags: ["t"] });
  const third = await save("gamma");
  const ids = async (query = {}) => (await memories.list(query)).map(({ id }) => id);
  expect(await ids()).toEqual([third, second]);
  expect(await ids({ all: true })).toEqual([third, second, first]);
  expect(await ids({ text: "beta" })).toEqual([second]);
  expect(await ids({ tags: ["t"] })).toEqual([second]);
  expect(await ids({ limit: 1 })).toEqual([third]);
  for (const limit of [0, -1, 1.5, Number.NaN]) await refused(memories.list({ limit }), "usage");
});
