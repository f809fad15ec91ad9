import assert from "node:assert/strict";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, it } from "vitest";
import type { StoredEvent } from "../../../events/event.ts";
import { openStore } from "../../../open-store.ts";
import type { Store } from "../../../ports/store.ts";
import { about, collect, note, StoredRun } from "../../../testing/stored-run.ts";
import { testFolder } from "../../../testing/test-folder.test-support.ts";
import type { Mount } from "../mount.ts";
import { openServer } from "../server.test-support.ts";
import { EventHub } from "./event-hub.ts";
import { eventStreams } from "./event-stream.ts";
import { DeltaHub } from "./sse-deltas.ts";
import { openStreams, StreamReader, until } from "./sse-server.test-support.ts";

let folder: string;
let store: Store;

beforeEach(async () => {
  folder = testFolder();
  store = await open();
});

afterEach(() => store.close());

function open(): Promise<Store> {
  return openStore({ database: join(folder, "log.db"), synchronous: "normal" });
}

const seqs = (told: readonly unknown[]): number[] => told.map((one) => (one as StoredEvent).seq);
const logAfter = async (after: number): Promise<number[]> => seqs(await collect(store, { after }));

describe("the stream of events", () => {
  it("tells the log after Last-Event-ID, word for word, and goes on with what happens", async () => {
    const run = await StoredRun.start(store);
    const id = await run.child();
    await run.append(note(id, "two\nlines \u2028 and an end"));
    await using streams = await openStreams(store);
    const reader = new StreamReader(`${streams.origin}/events`, { "Last-Event-ID": "1" });
    await until(() => reader.told.length === 4);
    await run.append(note(id, "live"));
    await until(() => reader.told.length === 5);
    const events = await collect(store, { after: 1 });
    assert.deepEqual(reader.told, events);
    const types = reader.frames.flatMap(({ event }) => event ?? []);
    assert.deepEqual(
      types,
      events.map(({ type }) => type),
    );
    assert.equal(reader.response?.headers["content-type"], "text/event-stream; charset=utf-8");
    reader.close();
  });

  it("begins with what is new when no place is named, and says where that is", async () => {
    const run = await StoredRun.start(store);
    const id = await run.child();
    await using streams = await openStreams(store);
    const reader = new StreamReader(`${streams.origin}/events`);
    await until(() => reader.frames.length === 1);
    assert.equal(reader.lastId, "4");
    await run.append(note(id, "new"));
    await until(() => reader.told.length === 1);
    assert.deepEqual(seqs(reader.told), [5]);
    reader.close();
  });

  it("lets the header win over the query", async () => {
    const run = await StoredRun.start(store);
    await run.child();
    await using streams = await openStreams(store);
    const reader = new StreamReader(`${streams.origin}/events?after=0`, { "Last-Event-ID": "3" });
    await until(() => reader.told.length === 1);
    assert.deepEqual(seqs(reader.told), [4]);
    reader.close();
  });

  it("refuses with a problem what is no place, no type and no run of this log", async () => {
    const run = await StoredRun.start(store);
    const delegation = await run.child();
    await using streams = await openStreams(store);
    const cases: [path: string, status: number, says: RegExp, header?: string][] = [
      ["/events", 400, /last-event-id/, "seven"],
      ["/events", 400, /last-event-id/, "-1"],
      ["/events", 400, /another log/, "5"],
      ["/events?after=1e3", 400, /query\.after/],
      ["/events?after=99999999", 400, /ends at 4/],
      ["/events?types=run.started,nonsense", 400, /query\.types/],
      ["/events?types=__proto__", 400, /query\.types/],
      ["/events?deltas=yes", 400, /query\.deltas/],
      ["/events?wait=1", 400, /query\.wait/],
      ["/events?after=1&after=2", 400, /twice/],
      ["/events?run=r000000", 404, /no run/],
      [`/events?run=${delegation}`, 404, /no run/],
      [`/events?delegation=${run.id}`, 404, /no delegation/],
      ["/inbox/events?kinds=gossip", 400, /query\.kinds/],
      ["/inbox/events?after=77", 400, /another log/],
    ];
    for (const [path, status, says, header] of cases) {
      const headers = header === undefined ? {} : { "Last-Event-ID": header };
      const response = await fetch(streams.origin + path, { headers });
      const problem = (await response.json()) as { status: number; detail: string };
      assert.equal(response.status, status, path);
      assert.equal(response.headers.get("content-type"), "application/problem+json", path);
      assert.match(problem.detail, says, path);
    }
    assert.equal(streams.hub.events.size, 0);
  });

  it("leaves out what was not asked for and still moves the place to come back to", async () => {
    const run = await StoredRun.start(store);
    const other = await StoredRun.start(store);
    const id = await run.child();
    const foreign = await other.child();
    await using streams = await openStreams(store, { limits: { heartbeatMs: 50, sweepMs: 10 } });
    const url = `${streams.origin}/events?after=0&run=${run.id}&types=agent.interjected`;
    const reader = new StreamReader(url);
    await run.append(note(id, "mine"));
    await other.append(note(foreign, "not mine"));
    await until(() => reader.told.length === 1);
    const delegation = new StreamReader(`${streams.origin}/events?after=0&delegation=${foreign}`);
    await until(() => delegation.told.length === 4);
    assert.ok(delegation.told.every((one) => (one as StoredEvent).sub_agent_id === foreign));
    for (let count = 0; count < 30; count++) await other.append(note(foreign, `${count}`));
    const end = (await collect(store)).at(-1)?.seq;
    await until(() => reader.lastId === String(end));
    assert.equal(reader.told.length, 1);
    reader.close();
    delegation.close();
  });

  it("sends a comment while nothing happens", async () => {
    await StoredRun.start(store);
    await using streams = await openStreams(store, { limits: { heartbeatMs: 20, sweepMs: 5 } });
    const reader = new StreamReader(`${streams.origin}/events`);
    await until(() => reader.frames.filter(({ comment }) => comment !== undefined).length > 2);
    reader.close();
  });

  it("lets nobody have more streams than they may, and counts those that ended no more", async () => {
    await StoredRun.start(store);
    await using streams = await openStreams(store, { limits: { perPrincipal: 2, all: 3 } });
    const url = `${streams.origin}/events`;
    const ask = (who: string): StreamReader => new StreamReader(url, { "x-principal": who });
    const readers = [ask("one"), ask("one")];
    await until(() => readers.every(({ frames }) => frames.length === 1));
    const refused = await fetch(url, { headers: { "x-principal": "one" } });
    assert.equal(refused.status, 429);
    assert.equal(refused.headers.get("retry-after"), "5");
    readers.push(ask("two"));
    await until(() => readers.every(({ frames }) => frames.length === 1));
    assert.equal((await fetch(url, { headers: { "x-principal": "three" } })).status, 429);
    readers[0]?.close();
    await until(() => streams.hub.events.size === 2);
    const again = ask("one");
    await until(() => again.frames.length === 1);
    for (const reader of [...readers, again]) reader.close();
    await until(() => streams.hub.events.size === 0);
  });

  it("tells what models say before the event that it leads to, to those who want it", async () => {
    const deltas = new DeltaHub();
    await using streams = await openStreams(store, { deltas });
    const run = await StoredRun.start(store);
    const id = await run.child();
    const reader = new StreamReader(`${streams.origin}/events?deltas=1&run=${run.id}`);
    const without = new StreamReader(`${streams.origin}/events`);
    await until(() => reader.frames.length > 0 && without.frames.length > 0);
    await run.append(about(id, "agent.budget_reserved", { request: 1, tokens: 10 }));
    deltas.hear(id, "Hel");
    deltas.hear(id, "lo");
    deltas.hear("ffffff", "of a stranger");
    await run.append(note(id, "said"));
    await until(() => reader.told.length === 2 && without.told.length === 2);
    assert.deepEqual(
      reader.frames.slice(1).map(({ event }) => event),
      ["agent.budget_reserved", "delta", "agent.interjected"],
    );
    const delta = reader.frames.find(({ event }) => event === "delta");
    assert.equal(delta?.id, undefined);
    assert.deepEqual(JSON.parse(delta?.data ?? ""), {
      run_id: run.id,
      sub_agent_id: id,
      text: "Hello",
    });
    assert.ok(without.frames.every(({ event }) => event !== "delta"));
    reader.close();
    without.close();
  });

  it("ends every stream when the server stops", async () => {
    await StoredRun.start(store);
    await using streams = await openStreams(store);
    const reader = new StreamReader(`${streams.origin}/events`);
    await until(() => reader.frames.length === 1);
    streams.hub.close();
    await until(() => reader.isEnded);
    assert.equal(streams.hub.events.size, 0);
  });

  it("tells those who come back again and again exactly the log, while two stores write", async () => {
    const beside = await open();
    const runs = [await StoredRun.start(store), await StoredRun.start(beside)];
    const ids = [await runs[0]?.child(), await runs[1]?.child()];
    // A ring that is smaller than a burst: clients lose it and read the store again.
    await using streams = await openStreams(store, { limits: { ringBytes: 3000 } });
    const step = fc.record({
      writes: fc.integer({ min: 0, max: 30 }),
      who: fc.integer({ min: 0, max: 1 }),
      cut: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (steps) => {
        const begin = (await collect(store)).at(-1)?.seq ?? 0;
        const heard: number[] = [];
        let lastId = String(begin);
        const connect = (): StreamReader =>
          new StreamReader(`${streams.origin}/events`, { "Last-Event-ID": lastId }, (frame) => {
            lastId = frame.id ?? lastId;
            if (frame.data !== undefined) heard.push(JSON.parse(frame.data).seq);
          });
        let reader = connect();
        for (const { writes, who, cut } of steps) {
          const text = "x".repeat(200);
          const appends = Array.from({ length: writes }, () =>
            runs[who]?.append(note(ids[who] ?? "", text)),
          );
          if (cut) {
            reader.close();
            reader = connect();
          }
          await Promise.all(appends);
        }
        const log = await logAfter(begin);
        await until(() => heard.length >= log.length);
        assert.deepEqual(heard, log);
        reader.close();
      }),
      { numRuns: 40 },
    );
    await beside.close();
  });
});

describe("the stream of the inbox", () => {
  it("tells the items after a place, once each, and goes on with new ones", async () => {
    const run = await StoredRun.start(store);
    const id = await run.child();
    await run.append(
      about(id, "agent.interjected", { from: "watcher:w", severity: "warn", message: "a" }),
    );
    await using streams = await openStreams(store);
    const all = new StreamReader(`${streams.origin}/inbox/events?after=0`);
    const none = new StreamReader(`${streams.origin}/inbox/events?after=0&kinds=plan`);
    const fresh = new StreamReader(`${streams.origin}/inbox/events`);
    await until(() => all.told.length === 1 && fresh.frames.length === 1);
    const [first] = await store.readInbox({ after: 0, limit: 10 });
    assert.deepEqual(all.told, [first]);
    assert.equal(fresh.lastId, String(first?.id));
    const beside = await open();
    const other = await StoredRun.start(beside);
    const foreign = await other.child();
    await other.append(
      about(foreign, "agent.interjected", {
        from: "watcher:w",
        severity: "critical",
        message: "b",
      }),
    );
    await run.append(
      about(id, "agent.interjected", { from: "watcher:w", severity: "warn", message: "c" }),
    );
    await until(() => all.told.length === 3 && fresh.told.length === 2);
    assert.deepEqual(all.told, await store.readInbox({ after: 0, limit: 10 }));
    assert.deepEqual(fresh.told, all.told.slice(1));
    assert.equal(none.told.length, 0);
    const back = new StreamReader(`${streams.origin}/inbox/events`, {
      "Last-Event-ID": String(first?.id),
    });
    await until(() => back.told.length === 2);
    assert.deepEqual(back.told, fresh.told);
    for (const reader of [all, none, fresh, back]) reader.close();
    await beside.close();
  });
});

describe("behind the app", () => {
  it("streams for those who have a token and accept a stream, and ends when the server stops", async () => {
    let hub: EventHub | undefined;
    const late = (name: "events" | "inbox"): Mount => {
      let streams: ReturnType<typeof eventStreams> | undefined;
      return (...parts) => {
        assert.ok(hub !== undefined);
        streams ??= eventStreams(hub);
        return streams[name](...parts);
      };
    };
    await using http = await openServer({ events: late("events"), inboxEvents: late("inbox") });
    hub = new EventHub(http.engine.store);
    const { delegationId, events, runId } = await http.engine.run({
      task: "t",
      profile: "general",
    });
    const headers = { authorization: `Bearer ${http.token}`, accept: "text/event-stream" };
    const read = (path: string): StreamReader =>
      new StreamReader(`${http.server.url}/api/v1${path}?after=0`, headers);
    const all = read("/events");
    const ofRun = read(`/runs/${runId}/events`);
    const ofOne = read(`/delegations/${delegationId}/events`);
    const inbox = read("/inbox/events");
    await until(() => seqs(ofRun.told).at(-1) === events.at(-1)?.seq && inbox.told.length > 0);
    await until(() => ofOne.told.length > 0 && seqs(all.told).at(-1) === events.at(-1)?.seq);
    assert.deepEqual(
      seqs(ofRun.told),
      events.map(({ seq }) => seq),
    );
    assert.ok(ofOne.told.every((one) => (one as StoredEvent).sub_agent_id === delegationId));
    assert.equal(all.response?.headers["x-frame-options"], "DENY");
    assert.match(String(all.response?.headers["cache-control"]), /no-store/);
    assert.equal((await http.send({ path: "/api/v1/events?after=x", headers })).status, 400);
    const nobody = { authorization: undefined, accept: "text/event-stream" };
    assert.equal((await http.send({ path: "/api/v1/events", headers: nobody })).status, 401);
    assert.deepEqual(http.log, []);
    await http.server.close();
    await until(() => [all, ofRun, ofOne, inbox].every(({ isEnded }) => isEnded));
    hub.close();
  });
});
