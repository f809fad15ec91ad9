import assert from "node:assert/strict";
import { type Memory, memoryMarks, type NewMemory } from "../ports/memory-store.ts";
import type { Store } from "../ports/store.ts";
import { refused, StoredRun, type StoreTest } from "./stored-run.ts";

const most = 1000;
let calls = 0;

interface Desk {
  readonly run: StoredRun;
  readonly id: string;
  save(fields?: Partial<NewMemory>): Promise<Memory>;
}

/** A delegation that runs, and a way to save as it. */
async function openDesk(store: Store): Promise<Desk> {
  const run = await StoredRun.start(store);
  const id = await run.child();
  return {
    run,
    id,
    async save(fields = {}) {
      const outcome = await store.memories.save(memoryOf(run.id, id, fields), most);
      assert.ok(outcome.saved);
      return outcome.memory;
    },
  };
}

function memoryOf(runId: string, delegationId: string, fields: Partial<NewMemory>): NewMemory {
  return {
    text: "a note",
    tags: [],
    key: null,
    scope: "shared",
    workspace: "/work",
    runId,
    delegationId,
    callId: `call-${++calls}`,
    lineage: [delegationId],
    profile: "tester",
    ...fields,
  };
}

async function mark(store: Store, memory: Memory, as: keyof typeof memoryMarks): Promise<void> {
  const resourceType = memoryMarks[as];
  const change = { resourceType, resourceId: memory.id, expectedVersion: 0, value: {} };
  await store.changeRecords([change], "ann");
}

const texts = (memories: readonly Memory[]): readonly string[] => memories.map(({ text }) => text);

export const memoryTests: readonly StoreTest[] = [
  {
    title:
      "keeps a memory to the letter, with where it came from, for the next process that opens the store",
    async run({ store, reopen }) {
      const desk = await openDesk(store);
      const text = 'It\'s "quoted"; DROP TABLE memories; -- \u{1f980}\n\ttwo';
      const saved = await desk.save({ text, tags: ["a", 'b"'], key: "k", scope: "delegated" });
      const other = await reopen();
      assert.deepEqual(await other.memories.read(saved.id), saved);
      const { createdAt, ...rest } = saved;
      assert.ok(createdAt > 0);
      assert.equal(rest.text, text);
      assert.deepEqual(rest.tags, ["a", 'b"']);
      assert.deepEqual([rest.runId, rest.delegationId], [desk.run.id, desk.id]);
      assert.deepEqual([rest.promoted, rest.forgotten, rest.supersedes], [null, null, null]);
      assert.match(saved.id, /^m[0-9a-f]{6}$/);
      for (const id of ["m000000", "", "m", desk.id, saved.id.toUpperCase(), `${saved.id} `]) {
        assert.equal(await store.memories.read(id), undefined);
      }
    },
  },
  {
    title: "saves what one call saves once, however often it is repeated",
    async run({ store, reopen }) {
      const desk = await openDesk(store);
      const memory = memoryOf(desk.run.id, desk.id, { callId: "same" });
      const outcomes = await Promise.all(
        [store, store, store].map((each) => each.memories.save(memory, most)),
      );
      assert.deepEqual(
        outcomes.map((outcome) => outcome.saved && outcome.isNew),
        [true, false, false],
      );
      const again = await (await reopen()).memories.save({ ...memory, text: "other" }, most);
      assert.equal(again.saved && again.memory.text, "a note");
      assert.equal((await store.memories.find({ limit: 10 })).length, 1);
    },
  },
  {
    title: "takes nothing for a run of others, a delegation that is not there, or one too many",
    async run({ store, reopen }) {
      const desk = await openDesk(store);
      const other = await reopen();
      const foreign = memoryOf(desk.run.id, desk.id, {});
      await refused(other.memories.save(foreign, most), "fenced");
      const invented = memoryOf(desk.run.id, store.newDelegationId(), {});
      await refused(store.memories.save(invented, most), "unknown-delegation");
      const mixed = memoryOf((await StoredRun.start(store)).id, desk.id, {});
      await refused(store.memories.save(mixed, most), "unknown-delegation");
      await desk.save();
      await desk.save();
      assert.deepEqual(await store.memories.save(foreign, 2), { saved: false });
      assert.equal((await store.memories.find({ limit: 10 })).length, 2);
    },
  },
  {
    title: "writes down what led to a memory before the memory",
    async run({ store, reopen }) {
      const run = await StoredRun.start(store);
      const id = store.newDelegationId();
      const creating = store.append(run.creation(id));
      await store.memories.save(memoryOf(run.id, id, {}), most);
      const other = await reopen();
      assert.ok((await other.readRun(run.id))?.delegations.has(id));
      await creating;
    },
  },
  {
    title: "finds by words in any order and case, by their beginnings, and by tags, best first",
    async run({ store }) {
      const desk = await openDesk(store);
      await desk.save({ text: "The cache lives in Redis.", tags: ["infra"] });
      await desk.save({ text: "Builds are cached; rebuild the cache with make.", tags: ["build"] });
      await desk.save({ text: "The caf\u00e9 is closed.", tags: ["infra", "food"] });
      const find = async (text?: string, tags?: readonly string[]) =>
        texts(await store.memories.find({ text, tags, limit: 10 }));
      assert.deepEqual((await find("REDIS cache"))[0], "The cache lives in Redis.");
      assert.equal((await find("cach")).length, 2);
      assert.deepEqual(await find("rebuild"), ["Builds are cached; rebuild the cache with make."]);
      assert.deepEqual(await find(undefined, ["infra"]), [
        "The caf\u00e9 is closed.",
        "The cache lives in Redis.",
      ]);
      assert.deepEqual(await find(undefined, ["infra", "food"]), ["The caf\u00e9 is closed."]);
      assert.deepEqual(await find("cache", ["infra"]), ["The cache lives in Redis."]);
      assert.deepEqual(await find("nowhere"), []);
      assert.equal((await find("  ")).length, 3);
    },
  },
  {
    title: "finds parts of words where a script has no spaces, and takes no query for a command",
    async run({ store }) {
      const desk = await openDesk(store);
      await desk.save({ text: "\u6784\u5efa\u7f13\u5b58\u5728\u7b2c\u4e8c\u53f0\u673a\u5668" });
      await desk.save({ text: "100% of it" });
      const find = async (text: string) => texts(await store.memories.find({ text, limit: 10 }));
      assert.equal((await find("\u7f13\u5b58")).length, 1);
      assert.deepEqual(await find("%"), ["100% of it"]);
      for (const text of ['"', "'", "a OR", "NEAR(", "text:x*", "^", "* -", '") --', "\\", "_"]) {
        await find(text);
      }
      assert.deepEqual(await find("__"), []);
    },
  },
  {
    title: "leaves away what is surely not for a reader, and gives the rest page by page",
    async run({ store }) {
      const [here, there] = [await openDesk(store), await openDesk(store)];
      await here.save({ text: "mine", scope: "delegated" });
      await there.save({ text: "theirs", scope: "delegated" });
      await there.save({ text: "shared" });
      await there.save({ text: "elsewhere", workspace: "/other" });
      await there.save({ text: "everywhere", workspace: null });
      const near = { runId: here.run.id, workspace: "/work", formerly: [] };
      const find = async (query: object) =>
        texts(await store.memories.find({ near, limit: 10, ...query }));
      assert.deepEqual(await find({}), ["everywhere", "shared", "mine"]);
      assert.deepEqual(await find({ limit: 2, offset: 1 }), ["shared", "mine"]);
      assert.deepEqual(await find({ near: { ...near, workspace: null } }), ["everywhere", "mine"]);
      const formerly = { ...near, formerly: [there.id] };
      assert.ok((await find({ near: formerly })).includes("theirs"));
    },
  },
  {
    title: "puts the latest under a key in place of those before, of the same kind alone",
    async run({ store }) {
      const [one, two] = [await openDesk(store), await openDesk(store)];
      const first = await one.save({ key: "k", text: "first" });
      const second = await two.save({ key: "k", text: "second" });
      assert.equal(second.supersedes, first.id);
      await one.save({ key: "k", text: "other place", workspace: "/other" });
      const own = await one.save({ key: "k", text: "own", scope: "delegated" });
      await two.save({ key: "k", text: "their own", scope: "delegated" });
      assert.equal(own.supersedes, null);
      const now = async () => texts(await store.memories.find({ limit: 10 }));
      assert.deepEqual(await now(), ["their own", "own", "other place", "second"]);
      assert.equal((await store.memories.find({ limit: 10, all: true })).length, 5);
      await mark(store, second, "forgotten");
      assert.deepEqual(await now(), ["their own", "own", "other place", "first"]);
    },
  },
  {
    title: "refuses to replace what a person promoted",
    async run({ store }) {
      const desk = await openDesk(store);
      const kept = await desk.save({ key: "k", text: "kept", scope: "delegated" });
      await mark(store, kept, "promoted");
      const later = await desk.save({ key: "k", text: "later", scope: "delegated" });
      assert.equal(later.supersedes, null);
      assert.deepEqual(texts(await store.memories.find({ limit: 10 })), ["later", "kept"]);
      const { promoted } = (await store.memories.read(kept.id)) ?? {};
      assert.equal(promoted?.by, "ann");
    },
  },
  {
    title: "hides what was forgotten, unless all is asked for",
    async run({ store, reopen }) {
      const desk = await openDesk(store);
      const saved = await desk.save({ text: "secret plans" });
      await mark(store, saved, "forgotten");
      const other = await reopen();
      assert.deepEqual(await other.memories.find({ text: "plans", limit: 10 }), []);
      const [found] = await other.memories.find({ text: "plans", limit: 10, all: true });
      assert.equal(found?.forgotten?.by, "ann");
    },
  },
];
