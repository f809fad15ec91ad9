import assert from "node:assert/strict";
import { sha256 } from "../events/hash-chain.ts";
import { summarize } from "../events/summarize.ts";
import { exampleContract } from "./example-contract.ts";
import { about, collect, note, notes, refused, StoredRun, type StoreTest } from "./stored-run.ts";

export const readingTests: readonly StoreTest[] = [
  {
    title: "reads all events, those of a run, of a delegation, and those after a number",
    async run({ store }) {
      const left = await StoredRun.start(store);
      const right = await StoredRun.start(store);
      const [one, two, three] = [await left.child(), await right.child(), await left.child()];
      const rounds = Array.from({ length: 40 }, (_, index) => index);
      for (const round of rounds) {
        await Promise.all([
          left.append(note(one, `one ${round}`)),
          right.append(note(two, `two ${round}`)),
          left.append(note(three, `three ${round}`)),
        ]);
      }
      const all = await collect(store);
      assert.deepEqual(
        all.map(({ seq }) => seq),
        all.map((_, index) => (all[0]?.seq ?? 0) + index),
      );
      const ofRun = all.filter((event) => event.run_id === left.id);
      assert.deepEqual(await collect(store, { runId: left.id }), ofRun);
      const ofChild = all.filter((event) => event.sub_agent_id === two);
      assert.deepEqual(await collect(store, { delegationId: two }), ofChild);
      for (const { seq } of all.filter((_, index) => index % 7 === 0)) {
        const later = all.filter((event) => event.seq > seq);
        assert.deepEqual(await collect(store, { after: seq }), later);
        const ofRight = later.filter((event) => event.run_id === right.id);
        assert.deepEqual(await collect(store, { after: seq, runId: right.id }), ofRight);
      }
    },
  },
  {
    title: "gives every event its line for people, when it is written and whenever it is read",
    async run({ store, reopen }) {
      const run = await StoredRun.start(store);
      const child = await run.child();
      const [written] = await run.append(note(child, "a note\nof two lines"));
      assert.equal(written?.summary, "suite (info): a note of two lines");
      for (const reader of [store, await reopen()]) {
        const events = await collect(reader, { runId: run.id });
        for (const event of events) assert.equal(event.summary, summarize(event));
      }
    },
  },
  {
    title: "has nothing to tell of what does not exist",
    async run({ store }) {
      await StoredRun.start(store);
      for (const id of ["rffffff", "ffffff", "qffffff", "", "../etc", "r", "RFFFFFF"]) {
        assert.equal(await store.readRun(id), undefined, id);
        assert.equal(await store.findRun(id), undefined, id);
        await refused(store.readContract(id), "unknown-delegation");
      }
      assert.deepEqual(await collect(store, { runId: "rffffff" }), []);
      assert.deepEqual(await collect(store, { delegationId: "ffffff" }), []);
      assert.deepEqual(await collect(store, { runId: "" }), []);
    },
  },
  {
    title: "gives the live state of a run that it works on, and the same from a fresh look",
    async run({ store, reopen }) {
      const run = await StoredRun.start(store);
      const id = await run.child();
      const live = await store.readRun(run.id);
      assert.equal(live, await store.readRun(run.id));
      const late = { code: "timeout", cause: { code: "idle", ms: 5 }, error: "late" } as const;
      await run.append(about(id, "agent.subagent_failed", late));
      assert.equal(live?.delegations.get(id)?.status, "failed");
      assert.deepEqual(await (await reopen()).readRun(run.id), live);
    },
  },
  {
    title: "finds the run of a run, a delegation and a question",
    async run({ store, reopen }) {
      const run = await StoredRun.start(store);
      const id = await run.child();
      const askId = store.newAskId();
      await run.append(
        about(id, "agent.asked", {
          ask_id: askId,
          call_id: "c",
          question: "?",
          deadline_at: 0,
          default: null,
        }),
      );
      for (const known of [run.id, id, askId]) {
        assert.equal(await store.findRun(known), run.id);
        assert.equal(await (await reopen()).findRun(known), run.id);
      }
    },
  },
  {
    title: "lists runs, the latest first, by application and by whether they are open",
    async run({ store }) {
      const first = await StoredRun.start(store, "a");
      const second = await StoredRun.start(store, "b");
      const third = await StoredRun.start(store, "a");
      const id = await second.child();
      await second.append(
        about(id, "agent.budget_reserved", { request: 1, tokens: 9 }),
        about(id, "agent.budget_settled", {
          request: 1,
          reserved: 9,
          prompt: 3,
          completion: 4,
          cost: 0.5,
        }),
      );
      await second.finish();
      const idsOf = async (query: Parameters<typeof store.listRuns>[0]) =>
        (await store.listRuns(query)).map((row) => row.id);
      assert.deepEqual(await idsOf({}), [third.id, second.id, first.id]);
      assert.deepEqual(await idsOf({ application: "a" }), [third.id, first.id]);
      assert.deepEqual(await idsOf({ open: true }), [third.id, first.id]);
      assert.deepEqual(await idsOf({ limit: 1 }), [third.id]);
      assert.deepEqual(await idsOf({ before: third.id }), [second.id, first.id]);
      assert.deepEqual(await idsOf({ before: third.id, application: "a" }), [first.id]);
      assert.deepEqual(await idsOf({ before: first.id }), []);
      assert.deepEqual(await idsOf({ before: "nobody" }), []);
      assert.deepEqual(await idsOf({ outcome: "failed" }), [second.id]);
      assert.deepEqual(await idsOf({ outcome: "succeeded" }), []);
      const row = (await store.listRuns({ application: "b" }))[0];
      assert.equal(row?.outcome, "failed");
      assert.deepEqual([row?.delegations, row?.tokens, row?.cost], [1, 7, 0.5]);
    },
  },
  {
    title: "lists runs by what the contract of the root says, also where it follows later",
    async run({ store }) {
      const [first, second] = [
        await StoredRun.start(store, "a", "/work/harbour"),
        await StoredRun.start(store, "a", "/work/lighthouse"),
      ];
      await first.child();
      await second.child();
      await second.child();
      await second.finish();
      const third = await StoredRun.start(store, "a", "/work/harbour");
      const { model, principal, profile } = exampleContract();
      const facts = { model: `${model.provider}/${model.model}`, startedBy: principal.id };
      const [row] = await store.listRuns({ before: third.id });
      assert.deepEqual(
        [row?.id, row?.profile, row?.model, row?.startedBy],
        [second.id, profile.id, facts.model, facts.startedBy],
      );
      const [bare] = await store.listRuns({ limit: 1 });
      assert.deepEqual([bare?.profile, bare?.model, bare?.startedBy], [null, null, null]);
      const idsOf = async (query: Parameters<typeof store.listRuns>[0]) =>
        (await store.listRuns(query)).map((one) => one.id);
      const both = { profile: profile.id, ...facts };
      assert.deepEqual(await idsOf(both), [second.id, first.id]);
      assert.deepEqual(await idsOf({ ...both, open: true }), [first.id]);
      assert.deepEqual(await idsOf({ ...both, before: second.id }), [first.id]);
      assert.deepEqual(await idsOf({ workspace: "/work/harbour" }), [third.id, first.id]);
      assert.deepEqual(await idsOf({ workspace: "/work/harbour", outcome: "failed" }), []);
      for (const other of [{ profile: "x" }, { model: "x/y" }, { startedBy: "'; --" }]) {
        assert.deepEqual(await idsOf(other), []);
      }
    },
  },
  {
    title: "gives contracts back as they were written",
    async run({ store, reopen }) {
      const run = await StoredRun.start(store);
      const id = await run.child();
      const { events, contracts } = run.creation(id);
      const expected = JSON.parse(contracts?.get(id) ?? "");
      assert.deepEqual(await store.readContract(id), expected);
      assert.deepEqual(await (await reopen()).readContract(id), expected);
      assert.equal(events.length, 1);
    },
  },
  {
    title: "lets a delegation whose contract was changed do nothing but end",
    damages: true,
    async run({ store, reopen, tamper }) {
      if (tamper === undefined) return;
      const run = await StoredRun.start(store);
      const [id, other] = [await run.child(), await run.child()];
      const original = run.creation(id).contracts?.get(id) ?? "";
      await tamper(id);
      // The writer may still have its own text in memory; no other reader takes the damaged text for it.
      await refused((await reopen()).readContract(id), "contract-invalid");
      const output = { output: "x", output_hash: sha256("x") };
      const outcomes = await Promise.allSettled([
        run.append(about(id, "agent.subagent_waiting_for_merge", output)),
        run.append(about(other, "agent.subagent_waiting_for_merge", output)),
      ]);
      assert.deepEqual(
        outcomes.map(({ status }) => status),
        ["rejected", "fulfilled"],
      );
      const text = "its contract was changed";
      const cause = { code: "contract_invalid", text } as const;
      const denied = { code: "policy_denied", cause, error: text } as const;
      await run.append(about(id, "agent.subagent_failed", denied));
      assert.equal((await (await reopen()).readRun(run.id))?.delegations.get(id)?.status, "failed");
      assert.equal(
        sha256(original),
        (await store.readRun(run.id))?.delegations.get(id)?.contractHash,
      );
    },
  },
  {
    title: "keeps long texts by their hash, with the next append",
    async run({ store, reopen }) {
      const run = await StoredRun.start(store);
      const text = "a long prompt ".repeat(1000);
      const hash = store.keepText(text);
      assert.equal(hash, sha256(text));
      assert.equal(store.keepText(text), hash);
      await run.child();
      assert.equal(await store.readText(hash), text);
      assert.equal(await (await reopen()).readText(hash), text);
      assert.equal(await store.readText(sha256("something else")), undefined);
    },
  },
  {
    title: "keeps large bodies by their hash, once",
    async run({ store, reopen }) {
      const body = `${"ä".repeat(300_000)} \u0000 end`;
      const kept = await store.keepArtifact(body);
      assert.deepEqual(kept, { hash: sha256(body), bytes: Buffer.byteLength(body) });
      assert.deepEqual(await Promise.all([store.keepArtifact(body), store.keepArtifact(body)]), [
        kept,
        kept,
      ]);
      assert.equal(await (await reopen()).readArtifact(kept.hash), body);
      for (const hash of [sha256("other"), "", "../../etc/passwd", `${kept.hash}/..`]) {
        assert.equal(await store.readArtifact(hash), undefined);
      }
    },
  },
  {
    title: "reads ten thousand events in order",
    async run({ store, reopen }) {
      const run = await StoredRun.start(store);
      const id = await run.child();
      const texts = Array.from({ length: 10_000 }, (_, index) => String(index));
      const appends: Promise<unknown>[] = [];
      for (let index = 0; index < texts.length; index += 10) {
        const ten = texts.slice(index, index + 10).map((text) => note(id, text));
        appends.push(run.append(...ten));
        if (index % 500 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
      await Promise.all(appends);
      const other = await reopen();
      assert.deepEqual(notes(await collect(other, { delegationId: id })), texts);
      assert.deepEqual(notes(await collect(store, { runId: run.id })), texts);
      const [middle] = (await collect(other)).slice(5000);
      const later = await collect(other, { after: middle?.seq ?? 0 });
      assert.equal(later.length, 10_004 - 5001);
    },
  },
];
