import assert from "node:assert/strict";
import { inboxChangeOf } from "../events/inbox-change.ts";
import { type InboxItem, touchesInbox } from "../events/inbox-item.ts";
import { applyToRun, emptyRun } from "../events/run-state.ts";
import type { InboxQuery, Store } from "../ports/store.ts";
import { about, collect, note, refused, StoredRun, type StoreTest } from "./stored-run.ts";

export const inboxTests: readonly StoreTest[] = [
  {
    title: "has an item for every event that is one, as the fold of the log has it",
    async run({ store, reopen }) {
      for (let round = 0; round < 3; round++) await liveOnce(store);
      const expected = await foldOf(store);
      assert.ok(expected.length >= 15);
      assert.deepEqual(await store.readInbox(all), expected);
      assert.deepEqual(await (await reopen()).readInbox(all), expected);
    },
  },
  {
    title: "reads from a place on, up to a place, the last ones, by kind, by run, in order",
    async run({ store }) {
      const runs = [await liveOnce(store), await liveOnce(store), await liveOnce(store)];
      const items = await store.readInbox(all);
      const read = (query: Partial<InboxQuery>) => store.readInbox({ limit: 100, ...query });
      for (const { id } of items) {
        assert.deepEqual(await read({ after: id }), later(items, id));
        assert.deepEqual(await read({ after: id, limit: 2 }), later(items, id).slice(0, 2));
        const earlier = items.filter((item) => item.id < id);
        assert.deepEqual(await read({ before: id }), earlier);
        assert.deepEqual(await read({ before: id, limit: 2 }), earlier.slice(-2));
      }
      assert.deepEqual(await read({ limit: 3 }), items.slice(-3));
      const asks = items.filter(({ kind }) => kind === "ask" || kind === "run");
      assert.deepEqual(await read({ kinds: ["ask", "run"] }), asks);
      assert.deepEqual(await read({ kinds: [] }), []);
      for (const { id } of runs) {
        const ofRun = items.filter(({ runId }) => runId === id);
        assert.deepEqual(await read({ runId: id }), ofRun);
        assert.deepEqual(await read({ runId: id, after: 0, limit: 2 }), ofRun.slice(0, 2));
      }
      assert.deepEqual(await read({ runId: "rffffff" }), []);
      assert.deepEqual(await read({ runId: "nonsense" }), []);
    },
  },
  {
    title: "finds the items of a run among thousands of events of others",
    async run({ store }) {
      const early = await liveOnce(store);
      const noisy = await StoredRun.start(store);
      const id = await noisy.child();
      for (let round = 0; round < 12; round++) {
        const notes = Array.from({ length: 400 }, (_, index) => note(id, `${round} ${index}`));
        await noisy.append(...notes);
      }
      const late = await liveOnce(store);
      const items = await store.readInbox(all);
      for (const run of [early, noisy, late]) {
        const ofRun = items.filter(({ runId }) => runId === run.id);
        assert.deepEqual(await store.readInbox({ ...all, runId: run.id }), ofRun);
      }
      // The run has ended, in the middle of the log; later events must be found as well.
      await noisy.finish();
      const [last] = await store.readInbox({ limit: 5, runId: noisy.id });
      assert.equal(last?.kind, "run");
    },
  },
  {
    title: "shows an ask as open until it is answered, replaced, or its delegation ends",
    async run({ store, reopen }) {
      const run = await StoredRun.start(store);
      const children = [await run.child(), await run.child(), await run.child()];
      const asks = children.map(() => store.newAskId());
      for (const [index, id] of children.entries()) await run.append(asking(id, asks[index]));
      const open = async (): Promise<readonly string[]> => {
        const items = await (await reopen()).readInbox({ ...all, openOnly: true });
        return items.map(({ ask }) => ask?.id ?? "");
      };
      assert.deepEqual(await open(), asks);
      const [first = "", second = "", third = ""] = children;
      const payload = { ask_id: asks[0] ?? "", answer: "yes", by: "person" as const };
      await run.append(about(first, "agent.answered", payload));
      assert.deepEqual(await open(), asks.slice(1));
      const another = store.newAskId();
      await run.append(asking(second, another));
      assert.deepEqual(await open(), [asks[2], another]);
      const failure = { code: "timeout", cause: { code: "idle", ms: 5 }, error: "late" } as const;
      await run.append(about(third, "agent.subagent_failed", failure));
      assert.deepEqual(await open(), [another]);
      // Asked and answered in one transaction.
      const quick = store.newAskId();
      const answer = { ask_id: quick, answer: null, by: "expired" as const };
      await run.append(asking(first, quick), about(first, "agent.answered", answer));
      assert.deepEqual(await open(), [another]);
      assert.deepEqual(await store.readInbox(all), await foldOf(store));
    },
  },
  {
    title: "has nothing of what was refused",
    async run({ store }) {
      const run = await StoredRun.start(store);
      const id = await run.child();
      const nobody = store.newDelegationId();
      await refused(
        run.append(asking(id, store.newAskId()), asking(nobody, store.newAskId())),
        "unknown-delegation",
      );
      assert.deepEqual(await store.readInbox(all), []);
      await run.append(asking(id, store.newAskId()));
      assert.equal((await store.readInbox(all)).length, 1);
    },
  },
  {
    title: "is not emptied by reading: every reader has a place, which only moves forward",
    async run({ store, reopen }) {
      await liveOnce(store);
      const items = await store.readInbox(all);
      const [first, second] = items;
      assert.equal(await store.readCursor("ann"), 0);
      assert.equal(await store.unreadCount("ann"), items.length);
      assert.equal(await store.moveCursor("ann", second?.id ?? 0), second?.id);
      assert.equal(await store.moveCursor("ann", first?.id ?? 0), second?.id);
      assert.equal(await store.moveCursor("ann", 0), second?.id);
      const other = await reopen();
      assert.equal(await other.readCursor("ann"), second?.id);
      assert.equal(await other.unreadCount("ann"), items.length - 2);
      assert.equal(await other.unreadCount("bob"), items.length);
      assert.deepEqual(await store.readInbox(all), items);
      // A place beyond the last item is refused: no reader can have seen it.
      assert.equal(await store.moveCursor("ann", Number.MAX_SAFE_INTEGER), items.at(-1)?.id);
      assert.equal(await store.unreadCount("ann"), 0);
      await liveOnce(other);
      assert.equal(await store.unreadCount("ann"), items.length);
      assert.equal(await store.moveCursor("", -5), 0);
    },
  },
  {
    title: "keeps what several processes write at once in the order of the log",
    async run({ store, reopen }) {
      const stores = [store, await reopen(), await reopen()];
      await Promise.all(
        stores.map(async (one) => {
          for (let round = 0; round < 5; round++) await liveOnce(one);
        }),
      );
      const expected = await foldOf(store);
      for (const one of stores) assert.deepEqual(await one.readInbox(all), expected);
    },
  },
];

const all: InboxQuery = { limit: 1000, after: 0 };

const later = (items: readonly InboxItem[], id: number) => items.filter((item) => item.id > id);

const asking = (id: string, askId = "", text = "Blue or green?") =>
  about(id, "agent.asked", {
    ask_id: askId,
    call_id: `call ${askId}`,
    question: text,
    deadline_at: 1_900_000_000_000,
    default: null,
  });

/** A run with a bit of everything that an inbox tells. */
async function liveOnce(store: Store): Promise<StoredRun> {
  const run = await StoredRun.start(store);
  const id = await run.child();
  const askId = store.newAskId();
  await run.append(asking(id, askId, `One\nline?\u0000 \ud800 ${"long ".repeat(100)}`));
  const answer = { ask_id: askId, answer: "both", by: "person" } as const;
  await run.append(note(id, "not for people"), about(id, "agent.answered", answer));
  const remark = { from: `watcher:${id}`, severity: "critical", message: "Stop." } as const;
  await run.append(about(id, "agent.interjected", remark));
  await run.append({ type: "run.planned", payload: { by: id, call_id: "plan", steps: [] } });
  await run.finish();
  return run;
}

async function foldOf(store: Store): Promise<readonly InboxItem[]> {
  const items = new Map<number, InboxItem>();
  const runs = new Map<string, ReturnType<typeof emptyRun>>();
  for (const event of await collect(store)) {
    const run = runs.get(event.run_id) ?? emptyRun(event.run_id);
    runs.set(event.run_id, run);
    const before = run.delegations.get(event.sub_agent_id ?? "");
    applyToRun(run, event);
    if (!touchesInbox(event.type)) continue;
    const { closes, item } = inboxChangeOf(event, run, before);
    for (const one of items.values()) {
      if (closes !== undefined && one.ask?.id === closes)
        items.set(one.id, { ...one, isOpen: false });
    }
    if (item) items.set(item.id, item);
  }
  return [...items.values()];
}
