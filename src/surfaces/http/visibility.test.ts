import { expect, test } from "vitest";
import { AccessTokens } from "../../control/access/access-tokens.ts";
import type { Script } from "../../models/scripted/scripted-model.ts";
import { askIdOf, hexOf, memoryIdOf, runIdOf } from "../../ports/identity.ts";
import { Inbox } from "../../sessions/inbox.ts";
import { openEngine, type TestEngine, testProfile } from "../../testing/engine-fixture.ts";
import { Metrics } from "./metrics/metrics.ts";
import { streams } from "./mount.ts";
import type { Route } from "./route.ts";
import { routes } from "./routes/all-routes.ts";
import { encodeCursor } from "./routes/paging.ts";
import { startServer } from "./serve.ts";
import { EventHub } from "./streams/event-hub.ts";
import { eventStreams } from "./streams/event-stream.ts";
import { DeltaHub } from "./streams/sse-deltas.ts";
import { StreamReader, until } from "./streams/sse-server.test-support.ts";

const told = {
  task: "look for the lost lighthouse",
  question: "Which harbour, the flooded one?",
  memory: "The ferry leaves from pier nineteen.",
  result: "The keeper hid it in the chapel.",
  open: "wait for the tide table",
} as const;

const script: Script = ({ caller, messages }) => {
  const isFirst = messages.at(-1)?.role === "user";
  if (caller.profile === "keeper" && isFirst) {
    return { calls: [{ tool: "memory_save", input: { text: told.memory, tags: ["pier"] } }] };
  }
  if (caller.profile === "asker" && isFirst) {
    return { calls: [{ tool: "ask_user", input: { message: told.question } }] };
  }
  return { text: caller.profile === "plain" ? "nothing special" : told.result };
};

const profiles = [
  testProfile("keeper", { tools: ["memory_save"] }),
  testProfile("asker", { tools: ["ask_user"] }),
  testProfile("plain", { tools: [] }),
];

type Ids = Readonly<Record<"runId" | "delegationId" | "askId" | "memoryId", string>>;

/** Ids of the right form that no store has given out. */
const ghosts: Ids = {
  runId: runIdOf(16_000_001),
  delegationId: hexOf(16_000_002),
  askId: askIdOf(16_000_003),
  memoryId: memoryIdOf(16_000_004),
};

interface Reply {
  readonly status: number;
  readonly text: string;
}

interface Place {
  readonly runs: readonly Ids[];
  as(name: string): (method: string, path: string, body?: object) => Promise<Reply>;
  stream(name: string, path: string, headers?: Record<string, string>): StreamReader;
}

/** A server, and runs of alice's: one that has ended, and one that waits for an answer. */
async function serve(
  engine: TestEngine,
  deltas = new DeltaHub(),
): Promise<Place & AsyncDisposable> {
  const tokens = new AccessTokens(engine.store, `${engine.home}/tokens`);
  const by = { id: "test", role: "admin" } as const;
  const held = new Map<string, string>();
  for (const name of ["alice", "bob", "ops"]) {
    const allRuns = name === "ops";
    held.set(name, (await tokens.create({ name, role: "operator", allRuns }, by)).token);
  }
  held.set("vera", (await tokens.create({ name: "vera", role: "viewer" }, by)).token);
  const host = { runtime: engine, tokens, workspaces: [engine.workspace], startedAt: Date.now() };
  const hub = new EventHub(engine.store, { deltas });
  const { events, inbox: inboxEvents } = eventStreams(hub);
  const metrics = new Metrics(hub, engine.store, "0");
  const log: string[] = [];
  const server = await startServer({
    ...{ host, routes, events, inboxEvents, metrics: metrics.mount },
    ...{ port: 0, rate: { perSecond: 1e6, burst: 1e6 }, log: (line) => void log.push(line) },
  });
  const headersOf = (name: string) => ({ authorization: `Bearer ${held.get(name)}` });
  const as: Place["as"] = (name) => async (method, path, body) => {
    const response = await fetch(`${server.url}${path}`, {
      method,
      headers: {
        ...headersOf(name),
        accept: "application/json",
        ...(body && { "content-type": "application/json" }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: response.status, text: await response.text() };
  };
  const alice = as("alice");
  const begin = async (profile: string, task: string, wait: number): Promise<Ids> => {
    const reply = await alice("POST", "/api/v1/runs", { profile, task, wait });
    const { delegationId, runId } = JSON.parse(reply.text);
    return { ...ghosts, delegationId, runId };
  };
  const ended = await begin("keeper", told.task, 20_000);
  const waiting = await begin("asker", told.open, 0);
  const inbox = new Inbox(engine.store);
  await expect.poll(() => inbox.open(), { timeout: 45_000 }).toHaveLength(1);
  const [memory] = await engine.store.memories.find({ limit: 1 });
  const [item] = await inbox.open();
  return {
    as,
    runs: [
      { ...ended, memoryId: memory?.id ?? "" },
      { ...waiting, memoryId: memory?.id ?? "", askId: item?.ask?.id ?? "" },
    ],
    stream: (name, path, headers = {}) =>
      new StreamReader(`${server.url}/api/v1${path}`, {
        ...headersOf(name),
        accept: "text/event-stream",
        ...headers,
      }),
    async [Symbol.asyncDispose]() {
      await as("ops")("POST", `/api/v1/runs/${waiting.runId}/cancel`, {});
      await server.close(2000);
      metrics.close();
      hub.close();
      expect(log).toEqual([]);
    },
  };
}

/** What operations take that cannot be left out, each of them valid. */
const bodies: Readonly<Record<string, object>> = {
  startRun: { profile: "plain", task: "mine" },
  forkRun: { at: 3 },
  skipWorkflowAgent: { key: "a-1" },
  answerDelegation: { text: "no" },
  sendMessage: { message: "look at b" },
  continueSession: { message: "and then?" },
  renameSession: { title: "mine now" },
  answerAsk: { text: "no" },
  markInboxRead: { upTo: 1_000_000 },
  executeCommand: { text: "/status" },
};
const hash = "0".repeat(64);

/** The address of an operation, for the things of one run. */
function addressOf({ id, path }: Route, ids: Ids): string {
  const params: Readonly<Record<string, string>> = {
    ...ids,
    sessionId: ids.delegationId,
    hash,
    agentId: "@nobody",
    profile: "keeper",
    name: "nobody",
    record: "none",
    request: "1",
  };
  const filled = path.replaceAll(/:(\w+)/g, (_, name: string) => params[name] ?? name);
  const query: Readonly<Record<string, string>> = {
    compareRuns: `?with=${ids.runId}`,
    completeCommand: `?prefix=${encodeURIComponent("/cancel ")}`,
    getCosts: "?by=run",
    listMemories: "?all=true&text=ferry",
  };
  return `/api/v1${filled}${query[id] ?? ""}`;
}

const naming = /:(runId|delegationId|sessionId|askId|memoryId)\b/;
const ofRuns = routes.filter(({ path }) => naming.test(path));
const others = routes.filter(({ path, tag }) => !naming.test(path) && tag !== "tokens");

/** The text without the ids that were asked for: it must be the same for unknown and for foreign ids. */
function masked(text: string, ids: Ids): string {
  return Object.values(ids).reduce((rest, id) => rest.replaceAll(id, "ID"), text);
}

function expectNothingOf(runs: readonly Ids[], text: string, where: string): void {
  for (const secret of Object.values(told)) expect(text, where).not.toContain(secret);
  for (const ids of runs) {
    for (const id of Object.values(ids)) expect(text, where).not.toContain(id);
  }
}

test("an operation on a run of another operator is answered like one on a run that never was", async () => {
  await using engine = await openEngine({ profiles, model: script });
  await using place = await serve(engine);
  const bob = place.as("bob");
  for (const route of ofRuns) {
    const ghost = await bob(route.method, addressOf(route, ghosts), bodies[route.id]);
    expect([route.id, ghost.status]).toEqual([route.id, 404]);
    for (const ids of place.runs) {
      const foreign = await bob(route.method, addressOf(route, ids), bodies[route.id]);
      expect({ ...foreign, text: masked(foreign.text, ids) }, route.id).toEqual({
        status: 404,
        text: masked(ghost.text, ghosts),
      });
    }
  }
  // Nothing of it had an effect.
  const vera = place.as("vera");
  const [, open] = place.runs;
  const detail = JSON.parse((await vera("GET", `/api/v1/runs/${open?.runId}`)).text);
  expect(detail.state).toBe("running");
  const memory = await vera("GET", `/api/v1/memory/${open?.memoryId}`);
  expect(JSON.parse(memory.text)).toMatchObject({ forgotten: null, promoted: null });
});

test("no list, sum or count of the API tells an operator of the runs of another one", async () => {
  await using engine = await openEngine({ profiles, model: script });
  await using place = await serve(engine);
  const bob = place.as("bob");
  for (const route of others) {
    const { status, text } = await bob(route.method, addressOf(route, ghosts), bodies[route.id]);
    expect(status, route.id).toBeLessThan(500);
    expectNothingOf(place.runs, text, route.id);
  }
  const read = async (path: string) => JSON.parse((await bob("GET", `/api/v1${path}`)).text);
  // The walk has started one run of bob's own, and no more.
  await expect
    .poll(async () => (await read("/runs?limit=1")).items[0]?.state, { timeout: 45_000 })
    .toBe("succeeded");
  expect((await read("/runs")).items).toHaveLength(1);
  expect((await read("/runs?limit=1")).nextCursor).toBeNull();
  expect((await read("/sessions")).items).toHaveLength(1);
  expect((await read("/costs?by=run")).runs).toBe(1);
  expect((await read("/memory")).items).toEqual([]);
  expect(await read("/inbox?openOnly=true")).toMatchObject({ items: [], nextCursor: null });
  const { items, unread } = await read("/inbox");
  expect(unread).toBeLessThanOrEqual(items.length);
  expect(await read("/health")).toMatchObject({ openRuns: 0, liveRuns: 0 });
  expect((await bob("GET", "/metrics")).status).toBe(403);
  // The place of a run in a list tells no more of it than the place of none.
  const after = (runId = "") => read(`/runs?cursor=${encodeCursor("runs", runId)}`);
  expect(await after(place.runs[1]?.runId)).toEqual(await after(ghosts.runId));
});

test("an operator who sees no runs of others stops none of their queues and workers", async () => {
  await using engine = await openEngine({ profiles, model: script });
  await using place = await serve(engine);
  for (const scope of ["queue/default", "worker/w1", "version/1"]) {
    for (const [name, status] of [
      ["bob", 403],
      ["vera", 403],
      ["ops", 200],
    ] as const) {
      const reply = await place.as(name)("PUT", "/api/v1/stops", { scope, stopped: true });
      expect([scope, name, reply.status]).toEqual([scope, name, status]);
    }
  }
  const { stops } = JSON.parse((await place.as("vera")("GET", "/api/v1/stops")).text);
  expect(stops.map(({ setBy }: { setBy: string }) => setBy)).toEqual(["ops", "ops", "ops"]);
});

test("no command finds the run of another operator", async () => {
  await using engine = await openEngine({ profiles, model: script });
  await using place = await serve(engine);
  const say = async (text: string, run?: string): Promise<string> => {
    const body = { text, ...(run && { run }) };
    return (await place.as("bob")("POST", "/api/v1/commands", body)).text;
  };
  const sentences = (ids: Ids): readonly (readonly [text: string, run?: string])[] => [
    [`/tree ${ids.delegationId}`],
    [`/budget ${ids.runId}`],
    [`/cancel ${ids.runId}`],
    [`/cancel ${ids.delegationId}`],
    [`/resume ${ids.runId}`],
    [`/answer ${ids.askId} no`],
    [`/pair on ${ids.delegationId}`],
    ["/tree", ids.runId],
    ["/budget", ids.runId],
    ["/pair on", ids.runId],
  ];
  const unknown = sentences(ghosts);
  for (const ids of place.runs) {
    for (const [index, [text, run]] of sentences(ids).entries()) {
      const [ghostText = "", ghostRun] = unknown[index] ?? [];
      expect(masked(await say(text, run), ids), text).toBe(
        masked(await say(ghostText, ghostRun), ghosts),
      );
    }
  }
  for (const text of ["/status", "/tree", "/sessions", "/inbox", "/pair on", "/budget"]) {
    expectNothingOf(place.runs, await say(text), text);
  }
  for (const prefix of ["/cancel ", "/answer ", "/tree ", "/pair on "]) {
    const path = `/api/v1/commands/completion?prefix=${encodeURIComponent(prefix)}`;
    expectNothingOf(place.runs, (await place.as("bob")("GET", path)).text, prefix);
  }
});

test("no stream tells an operator of the runs of another one, stored or as they come", async () => {
  const deltas = new DeltaHub();
  await using engine = await openEngine({ profiles, model: script, onDelta: deltas.hear });
  await using place = await serve(engine, deltas);
  const [ended] = place.runs;
  for (const path of [
    `/runs/${ended?.runId}/events`,
    `/delegations/${ended?.delegationId}/events`,
    `/events?run=${ended?.runId}`,
    `/events?delegation=${ended?.delegationId}`,
    `/inbox/events?run=${ended?.runId}`,
  ]) {
    const refused = place.stream("bob", path);
    await until(() => refused.response !== undefined);
    expect([path, refused.response?.statusCode]).toEqual([path, 404]);
    refused.close();
  }
  expect(streams.map(({ path }) => path)).toHaveLength(4);
  const open = (name: string) => [
    place.stream(name, "/events?after=0&deltas=1"),
    place.stream(name, "/events?deltas=1", { "last-event-id": "1" }),
    place.stream(name, "/events?types=run.started,run.finished,command.executed"),
    place.stream(name, "/inbox/events?after=0"),
    place.stream(name, "/inbox/events"),
  ];
  const [bobs, veras] = [open("bob"), open("vera")];
  await until(() => [...bobs, ...veras].every(({ response }) => response?.statusCode === 200));
  const start = async (name: string, profile: string, task: string): Promise<string> => {
    const body = { profile, task, wait: 20_000 };
    return JSON.parse((await place.as(name)("POST", "/api/v1/runs", body)).text).runId;
  };
  const later = await start("alice", "keeper", told.task);
  await place.as("alice")("POST", "/api/v1/commands", { text: `/tree ${later}` });
  const own = await start("bob", "plain", "look at the weather");
  // One after the other in the log: a stream that has bob's run has passed alice's.
  const heard = (reader: StreamReader): string => JSON.stringify(reader.frames);
  await until(() => [...bobs, ...veras].every((reader) => heard(reader).includes(own)));
  for (const [index, reader] of bobs.entries()) {
    expectNothingOf([...place.runs, { ...ghosts, runId: later }], heard(reader), `${index}`);
  }
  for (const reader of veras) expect(heard(reader)).toContain(later);
  const said = ([reader]: readonly StreamReader[]) =>
    reader?.frames.flatMap(({ data, event }) => (event === "delta" ? [data ?? ""] : [])).join();
  await until(() => said(bobs)?.includes("nothing special") === true);
  expect(said(veras)).toContain(told.result);
  for (const reader of [...bobs, ...veras]) reader.close();
});

test("the operator who started a run, viewers, and operators who see all runs are told the same", async () => {
  await using engine = await openEngine({ profiles, model: script });
  await using place = await serve(engine);
  const reading = ofRuns.filter(({ method }) => method === "GET");
  const replies = async (name: string) => {
    const found: [string, number][] = [];
    let all = "";
    for (const ids of place.runs) {
      for (const route of [...reading, ...others.filter(({ method }) => method === "GET")]) {
        if (route.id === "findFiles" || route.id === "getWaiting") continue;
        const { status, text } = await place.as(name)("GET", addressOf(route, ids));
        found.push([route.id, status]);
        all += text;
      }
    }
    for (const secret of Object.values(told)) expect(all, name).toContain(secret);
    return found;
  };
  const owner = await replies("alice");
  expect(await replies("vera")).toEqual(owner);
  expect(await replies("ops")).toEqual(owner);
  const meOf = async (name: string) =>
    JSON.parse((await place.as(name)("GET", "/api/v1/me")).text).allRuns;
  expect([await meOf("alice"), await meOf("vera"), await meOf("ops")]).toEqual([false, true, true]);
});
