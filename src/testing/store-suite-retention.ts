import assert from "node:assert/strict";
import { checkStore } from "../events/checker/check-store.ts";
import type { StoredEvent } from "../events/event.ts";
import { sha256 } from "../events/hash-chain.ts";
import { controlRunId } from "../ports/identity.ts";
import type { PruneReport, PruneRequest, Store } from "../ports/store.ts";
import {
  about,
  assertSound,
  collect,
  note,
  refused,
  StoredRun,
  type StoreTest,
} from "./stored-run.ts";
import { until } from "./until.ts";

const day = 24 * 60 * 60 * 1000;
/** A time before everything that these tests make. */
const longAgo = Date.UTC(2000, 0, 1);

/** Everything that has finished by now, and all bodies. */
function prune(store: Store, request: Partial<PruneRequest> = {}): Promise<PruneReport> {
  assert.ok(store.prune, "the store cannot prune");
  const soon = Date.now() + day;
  const all = { finishedBefore: soon, actor: "ann", most: 1000, bodiesBefore: soon };
  return store.prune({ ...all, ...request });
}

const idsOf = ({ runs }: PruneReport): readonly string[] => runs.map(({ runId }) => runId);

async function finishedRun(
  store: Store,
  ...messages: readonly string[]
): Promise<{ readonly run: StoredRun; readonly id: string }> {
  const run = await StoredRun.start(store);
  const id = await run.child();
  for (const message of messages) await run.append(note(id, message));
  await run.finish();
  return { run, id };
}

/** A run whose delegation continues that of another run. */
async function continuing(store: Store, from: string): Promise<StoredRun> {
  const run = await StoredRun.start(store);
  const id = store.newDelegationId();
  const { events, ...append } = run.creation(id);
  const [created] = events;
  assert.ok(created?.type === "agent.subagent_created");
  const resumed = { ...created, payload: { ...created.payload, resumed_from: from } };
  await store.append({ ...append, events: [resumed] });
  return run;
}

export const retentionTests: readonly StoreTest[] = [
  {
    title: "removes a finished run as a whole, leaves the others to the letter, and a receipt",
    async run({ store, reopen }) {
      const heard: StoredEvent[] = [];
      const beside = await reopen();
      const before = await finishedRun(store, "before");
      const { id, run } = await finishedRun(store, "gone");
      const after = await StoredRun.start(store);
      const otherId = await after.child();
      const all = await collect(store);
      const own = all.filter((event) => event.run_id === run.id);
      beside.subscribe((events) => heard.push(...events));
      const keep = new Set([before.run.id]);
      const report = await prune(store, { keep });
      assert.deepEqual(idsOf(report), [run.id]);
      assert.deepEqual(report.kept, [before.run.id]);
      assert.deepEqual(report.damaged, []);
      assert.equal(report.runs[0]?.events, own.length);
      await after.append(note(otherId, "on"));
      for (const one of [store, beside, await reopen()]) {
        const left = (await collect(one)).filter(({ run_id: runId }) => runId !== controlRunId);
        assert.deepEqual(
          left.slice(0, -1),
          all.filter((event) => event.run_id !== run.id),
        );
        assert.equal(await one.readRun(run.id), undefined);
        assert.equal(await one.findRun(run.id), undefined);
        assert.equal(await one.findRun(id), undefined);
        const ids = (await one.listRuns({})).map((row) => row.id);
        assert.deepEqual(ids, [after.id, before.run.id]);
        await assert.rejects(one.readContract(id), /of run r[0-9a-f]+ was pruned on \d{4}-/);
        await assertSound(one, all);
      }
      const [receipt] = await collect(store, { runId: controlRunId });
      assert.ok(receipt?.type === "control.pruned");
      const { payload } = receipt;
      assert.equal(payload.run, run.id);
      assert.equal(payload.actor, "ann");
      assert.equal(payload.outcome, "failed");
      assert.equal(payload.events, own.length);
      assert.equal(payload.head, own.at(-1)?.hash);
      assert.equal(payload.finished_at, own.at(-1)?.at);
      const numbers = payload.spans.flatMap(([first, count]) =>
        Array.from({ length: count }, (_, index) => first + index),
      );
      assert.deepEqual(
        numbers,
        own.map(({ seq }) => seq),
      );
      const { pruned } = await checkStore(store);
      assert.equal(pruned?.runs, 1);
      assert.equal(pruned?.lastAt, receipt.at);
      const late = { runId: run.id, by: "operator", events: [note(id, "late")] } as const;
      await refused(store.append(late), "illegal-transition");
      await until("the last one is heard", () => heard.at(-1)?.type === "agent.interjected");
      assert.deepEqual(
        heard.slice(-2).map(({ type }) => type),
        ["control.pruned", "agent.interjected"],
      );
    },
  },
  {
    title: "prunes nothing that is open, young, failed where failures stay, or over its number",
    async run({ store }) {
      const open = await StoredRun.start(store);
      await open.child();
      const runs = [await finishedRun(store), await finishedRun(store), await finishedRun(store)];
      const ids = runs.map(({ run }) => run.id);
      const before = await collect(store);
      assert.deepEqual(idsOf(await prune(store, { finishedBefore: longAgo })), []);
      assert.deepEqual(idsOf(await prune(store, { keepFailed: true })), []);
      const dry = await prune(store, { dryRun: true, most: 2 });
      assert.deepEqual([idsOf(dry), dry.isMore], [ids.slice(0, 2), true]);
      assert.deepEqual(await collect(store), before);
      const some = await prune(store, { most: 2 });
      assert.deepEqual([idsOf(some), some.isMore], [ids.slice(0, 2), true]);
      const rest = await prune(store);
      assert.deepEqual([idsOf(rest), rest.isMore], [ids.slice(2), false]);
      assert.deepEqual(idsOf(await prune(store)), []);
      assert.deepEqual(
        (await store.listRuns({})).map(({ id }) => id),
        [open.id],
      );
    },
  },
  {
    title:
      "keeps what an open run continues from, over any number of runs in between, until it has ended",
    async run({ store }) {
      const first = await finishedRun(store);
      const second = await continuing(store, first.id);
      const [secondId = ""] = (await store.readRun(second.id))?.delegations.keys() ?? [];
      await second.finish();
      const third = await continuing(store, secondId);
      const other = await finishedRun(store);
      const report = await prune(store);
      assert.deepEqual(idsOf(report), [other.run.id]);
      assert.deepEqual(report.kept, [first.run.id, second.id]);
      await third.finish();
      assert.deepEqual(idsOf(await prune(store)), [first.run.id, second.id, third.id]);
    },
  },
  {
    title: "keeps memories of a run that is gone, and notices when one of them is",
    async run({ store }) {
      const run = await StoredRun.start(store);
      const id = await run.child();
      const saving = {
        call_id: "c1",
        tool: "remember",
        changes: "none",
        saves_memory: true,
      } as const;
      await run.append(about(id, "agent.tool_started", saving));
      const saved = await store.memories.save(
        {
          ...{ text: "remember", tags: [], key: null, scope: "delegated", workspace: null },
          ...{ runId: run.id, delegationId: id, callId: "c1", lineage: [id], profile: "tester" },
        },
        10,
      );
      assert.ok(saved.saved);
      await run.finish();
      await prune(store);
      assert.equal((await store.memories.read(saved.memory.id))?.text, "remember");
      const [receipt] = await collect(store, { runId: controlRunId });
      assert.ok(receipt?.type === "control.pruned" && receipt.payload.memories === 1);
    },
  },
  {
    title: "removes bodies with their last reference, and keeps what is marked to stay",
    async run({ store, reopen }) {
      const writer = await reopen();
      const [shared, own, loose] = await Promise.all(
        ["shared", "own", "loose"].map((body) => writer.keepArtifact(body.repeat(3))),
      );
      const text = writer.keepText("a prompt that two use");
      const ownText = writer.keepText("a prompt that one uses");
      const one = await finishedRun(writer, `${shared?.hash} ${own?.hash} ${text} ${ownText}`);
      const two = await finishedRun(writer, `see ${shared?.hash}, and ${text}`);
      // A living worker keeps what it may still want to refer to.
      await writer.close();
      const both = new Set([one.run.id, two.run.id]);
      assert.equal((await prune(store, { keep: both })).artifacts, 1);
      assert.equal(await store.readArtifact(own?.hash ?? ""), "ownownown");
      // Nothing refers to it, but it was stored too recently to be sure of that.
      const lately = await store.keepArtifact("lately");
      const keep = new Set([two.run.id]);
      const report = await prune(store, { keep, bodiesBefore: longAgo });
      assert.deepEqual([idsOf(report), report.artifacts], [[one.run.id], 0]);
      assert.equal((await prune(store, { keep })).artifacts, 2);
      const again = await reopen();
      assert.equal(await again.readArtifact(shared?.hash ?? ""), "shared".repeat(3));
      assert.equal(await again.readText(text), "a prompt that two use");
      for (const hash of [own?.hash, loose?.hash, lately.hash]) {
        assert.equal(await again.readArtifact(hash ?? ""), undefined);
      }
      assert.equal(await again.readText(ownText), undefined);
      await prune(store);
      assert.equal(await again.readArtifact(shared?.hash ?? ""), undefined);
    },
  },
  {
    title:
      "keeps a text for the caller that was given it, and writes it again only after it was pruned",
    async run({ store, reopen }) {
      const beside = await reopen();
      const hash = beside.keepText("a prompt");
      const first = await StoredRun.start(beside);
      await first.append(note(await first.child(), hash));
      await first.finish();
      assert.equal(await store.readText(hash), "a prompt");
      assert.deepEqual(idsOf(await prune(store)), [first.id]);
      assert.equal(beside.keepText("a prompt"), hash);
      const next = await StoredRun.start(beside);
      await next.append(note(await next.child(), hash));
      assert.equal(await (await reopen()).readText(hash), "a prompt");
      assert.equal(hash, sha256("a prompt"));
    },
  },
  {
    title: "is done once by many who try at the same time, and by one of them in each period",
    async run({ store, reopen }) {
      const runs: string[] = [];
      for (let count = 0; count < 30; count++) runs.push((await finishedRun(store)).run.id);
      const others = [store, await reopen(), await reopen()];
      const open = await StoredRun.start(store);
      const id = await open.child();
      const appending = Array.from({ length: 20 }, (_, number) =>
        open.append(note(id, String(number))),
      );
      const reports = await Promise.all(others.map((one) => prune(one, { every: day })));
      assert.deepEqual(
        reports.map((report) => report.runs.length).toSorted((left, right) => left - right),
        [0, 0, 30],
      );
      assert.equal((await Promise.all(appending)).flat().length, 20);
      const more = await finishedRun(store);
      assert.deepEqual(idsOf(await prune(store, { every: day })), []);
      const all = await Promise.all(others.map((one) => prune(one)));
      assert.deepEqual(all.flatMap(idsOf), [more.run.id]);
      const log = await collect(store, { runId: controlRunId });
      assert.deepEqual(
        log.flatMap((event) => (event.type === "control.pruned" ? [event.payload.run] : [])),
        [...runs, more.run.id],
      );
    },
  },
];
