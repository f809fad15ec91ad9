import { expect, test } from "vitest";
import type { Script } from "../../models/scripted/scripted-model.ts";
import { controlRunId } from "../../ports/identity.ts";
import type { Store } from "../../ports/store.ts";
import { openEngine, type TestEngine, testProfile } from "../../testing/engine-fixture.ts";
import { maySee, type Principal, seesAllRuns } from "../records/principal.ts";
import { storeSeenBy } from "./store-seen-by.ts";

const ann: Principal = { id: "ann", role: "operator" };
const ben: Principal = { id: "ben", role: "operator" };

const profiles = [testProfile("saver", { tools: ["memory_save"] })];
const model: Script = ({ caller, messages }) => {
  const key = caller.task.startsWith("depth") ? { key: "depth" } : {};
  return messages.at(-1)?.role === "user"
    ? { calls: [{ tool: "memory_save", input: { text: caller.task, ...key } }] }
    : "done";
};

async function runAs(engine: TestEngine, by: Principal, task: string): Promise<string> {
  return (await engine.run({ profile: "saver", task, by })).runId;
}

test("an operator sees its own runs, and more only where that was said", () => {
  const runs = (role: string, allRuns?: boolean) => {
    const principal = { id: "ann", role, allRuns } as Principal;
    return [maySee(principal, "ann"), maySee(principal, "ben"), maySee(principal, undefined)];
  };
  expect(runs("operator")).toEqual([true, false, false]);
  expect(runs("operator", false)).toEqual([true, false, false]);
  expect(runs("operator", true)).toEqual([true, true, true]);
  expect(runs("viewer")).toEqual([true, true, true]);
  expect(runs("admin")).toEqual([true, true, true]);
  // A role that is not known widens nothing.
  expect(runs("root", true)).toEqual([true, false, false]);
  expect(seesAllRuns({ role: "operator", allRuns: "yes" as unknown as boolean })).toBe(false);
});

test("pages are filled from what is seen, and end where that ends", async () => {
  await using engine = await openEngine({ profiles, model });
  const own: string[] = [];
  for (let n = 0; n < 4; n++) {
    await runAs(engine, ben, `the river ${n}`);
    own.unshift(await runAs(engine, ann, `the hill ${n}`));
  }
  const seen = storeSeenBy(engine.store, ann);
  expect(storeSeenBy(engine.store, { ...ann })).toBe(seen);
  const pages: (readonly string[])[] = [];
  for (let before: string | undefined; ; ) {
    const rows = await seen.listRuns({ limit: 3, ...(before && { before }) });
    pages.push(rows.map(({ id }) => id));
    before = rows.at(-1)?.id;
    if (rows.length < 3) break;
  }
  expect(pages).toEqual([own.slice(0, 3), own.slice(3)]);
  expect(await seen.listRuns({ limit: 0 })).toEqual([]);
  const memories = [
    ...(await seen.memories.find({ limit: 3 })),
    ...(await seen.memories.find({ limit: 3, offset: 3 })),
  ];
  expect(memories.map(({ text }) => text)).toEqual([3, 2, 1, 0].map((n) => `the hill ${n}`));
  expect(await seen.memories.find({ text: "river", limit: 10 })).toEqual([]);
});

test("what is hidden is passed over, however much of it comes in a row", async () => {
  // The principal ann owns three of 2600 rows: the first, the last, and one in the middle.
  const owned = new Set([0, 1300, 2599]);
  const ids = Array.from({ length: 2600 }, (_, index) => `r${index}`);
  const rows = ids.map((id) => ({ id, runId: id, supersedes: null }));
  const fake: Partial<Record<keyof Store, unknown>> = {
    async *readEvents({ runId }: { runId: string }) {
      const payload = { parent_id: null };
      yield { type: "agent.subagent_created", sub_agent_id: runId, run_id: runId, payload };
    },
    readContract: async (id: string) => ({
      principal: { id: owned.has(Number(id.slice(1))) ? "ann" : "ben" },
    }),
    async listRuns({ before, limit }: { before?: string; limit: number }) {
      const from = before === undefined ? 0 : ids.indexOf(before) + 1;
      return rows.slice(from, from + limit);
    },
    async readInbox({ after, before, limit }: { after?: number; before?: number; limit: number }) {
      const items = rows.map(({ runId }, index) => ({ id: index, runId }));
      const [from, to] = [(after ?? -1) + 1, before ?? items.length];
      const fitting = items.slice(from, to);
      return after === undefined ? fitting.slice(-limit) : fitting.slice(0, limit);
    },
    memories: {
      find: async ({ limit, offset }: { limit: number; offset: number }) =>
        rows.slice(offset, offset + limit),
    },
  };
  const seen = storeSeenBy(fake as unknown as Store, ann);
  const own = ["r0", "r1300", "r2599"];
  const runs = async (query: Parameters<Store["listRuns"]>[0]) =>
    (await seen.listRuns(query)).map(({ id }) => id);
  expect(await runs({})).toEqual(own);
  expect(await runs({ limit: 2 })).toEqual(own.slice(0, 2));
  expect(await runs({ limit: 2, before: "r1300" })).toEqual(own.slice(2));
  expect(await runs({ before: "r7" })).toEqual([]);
  const inbox = async (query: Parameters<Store["readInbox"]>[0]) =>
    (await seen.readInbox(query)).map(({ runId }) => runId);
  expect(await inbox({ limit: 2 })).toEqual(own.slice(1));
  expect(await inbox({ limit: 9, before: 2599 })).toEqual(own.slice(0, 2));
  expect(await inbox({ limit: 2, after: 0 })).toEqual(own.slice(1));
  const memories = async (query: Parameters<Store["memories"]["find"]>[0]) =>
    (await seen.memories.find(query)).map(({ runId }) => runId);
  expect(await memories({ limit: 2 })).toEqual(own.slice(0, 2));
  expect(await memories({ limit: 2, offset: 2 })).toEqual(own.slice(2));
});

test("the inbox has the items of seen runs, in order and in both directions, and counts those alone", async () => {
  await using engine = await openEngine({ profiles, model });
  const own = new Set<string>();
  for (let n = 0; n < 3; n++) {
    own.add(await runAs(engine, ann, `the hill ${n}`));
    await runAs(engine, ben, `the river ${n}`);
  }
  const all = await engine.store.readInbox({ after: 0, limit: 1000 });
  const expected = all.filter(({ runId }) => own.has(runId));
  const seen = storeSeenBy(engine.store, ann);
  expect(expected.length).toBeGreaterThan(2);
  expect(await seen.readInbox({ after: 0, limit: 1000 })).toEqual(expected);
  expect(await seen.readInbox({ limit: 2 })).toEqual(expected.slice(-2));
  expect(await seen.readInbox({ limit: 2, before: expected.at(-1)?.id ?? 0 })).toEqual(
    expected.slice(-3, -1),
  );
  expect(await seen.unreadCount("ann")).toBe(expected.length);
  // The very last item is ben's: its number is not told.
  expect(await seen.moveCursor("ann", 1_000_000)).toBe(expected.at(-1)?.id);
  expect(await seen.unreadCount("ann")).toBe(0);
});

test("what belongs to a run that is not seen is found by no id and heard of by nobody", async () => {
  await using engine = await openEngine({ profiles, model });
  const seen = storeSeenBy(engine.store, ann);
  const heard: string[] = [];
  const stop = seen.subscribe((events) => heard.push(...events.map(({ run_id }) => run_id)));
  const foreign = await runAs(engine, ben, "the river");
  const own = await runAs(engine, ann, "the hill");
  await expect.poll(() => heard.includes(own)).toBe(true);
  stop();
  expect(heard).not.toContain(foreign);
  const run = await engine.store.readRun(foreign);
  const [root = ""] = run?.delegations.keys() ?? [];
  const [memory] = await engine.store.memories.find({ text: "river", limit: 1 });
  expect([await seen.findRun(foreign), await seen.findRun(root)]).toEqual([undefined, undefined]);
  expect([await seen.readRun(foreign), await seen.claimRun(foreign)]).toEqual([
    undefined,
    undefined,
  ]);
  expect(await seen.memories.read(memory?.id ?? "")).toBeUndefined();
  await expect(seen.readContract(root)).rejects.toThrow(`There is no delegation ${root}.`);
  const append = { runId: foreign, by: "operator", events: [] } as const;
  await expect(seen.append(append)).rejects.toThrow(`There is no run ${foreign}.`);
  for (const query of [{ runId: foreign }, { delegationId: root }]) {
    expect(await eventsOf(seen, query)).toEqual([]);
  }
  expect(new Set((await eventsOf(seen, {})).map(({ run_id }) => run_id))).toEqual(new Set([own]));
  expect("inspect" in seen).toBe(false);
  expect("prune" in seen).toBe(false);
});

test("a memory that stands in the place of another principal's does not name that one", async () => {
  await using engine = await openEngine({ profiles, model });
  const save = async (by: Principal, task: string) => {
    const { workspace } = engine;
    await engine.run({ profile: "saver", task, by, workspace });
    const [memory] = await engine.store.memories.find({ limit: 1 });
    return memory;
  };
  const first = await save(ben, "depth 1");
  const second = await save(ann, "depth 2");
  const third = await save(ann, "depth 3");
  expect([second?.supersedes, third?.supersedes]).toEqual([first?.id, second?.id]);
  const seen = await storeSeenBy(engine.store, ann).memories.find({ all: true, limit: 9 });
  expect(seen.map(({ id, supersedes }) => [id, supersedes])).toEqual([
    [third?.id, second?.id],
    [second?.id, null],
  ]);
});

test("of the control log an operator sees what it caused, and changes of what all share", async () => {
  await using engine = await openEngine({ profiles, model });
  const { store } = engine;
  await store.noteCommand("/tree r123456", "ben", "done");
  await store.noteCommand("/tree r654321", "ann", "done");
  const change = (resourceType: string, resourceId: string) => ({
    ...{ resourceType, resourceId, expectedVersion: 0, value: {} },
  });
  await store.changeRecords([change("session", "title:ben"), change("profile", "x")], "ben");
  const told = (await eventsOf(storeSeenBy(store, ann), { runId: controlRunId })).map(
    ({ payload }) => JSON.stringify(payload),
  );
  expect(told).toEqual([
    expect.stringContaining("r654321"),
    expect.stringContaining('"profile/x"'),
  ]);
});

async function eventsOf(store: Store, query: Parameters<Store["readEvents"]>[0]) {
  const events = [];
  for await (const event of store.readEvents(query)) events.push(event);
  return events;
}
