import { StatementSync } from "node:sqlite";
import { afterEach, expect, test, vi } from "vitest";
import type { StoredEvent } from "../../events/event.ts";
import type { Script } from "../../models/scripted/scripted-model.ts";
import { isDistributed, isOnPostgres } from "../../testing/alter-database.test-support.ts";
import { openEngine, type TestEngine, testProfile } from "../../testing/engine-fixture.ts";
import { until } from "../../testing/until.ts";

const profiles = [
  testProfile("lead", { tools: ["delegate_task", "list_files"] }),
  testProfile("middle", { tools: ["delegate_task", "list_files"] }),
  testProfile("leaf", { tools: ["list_files"] }),
];

const delegateTo = (profile: string, task: string) => ({
  tool: "delegate_task",
  input: { profile, task },
});

/** With different waits, so that ends and beginnings come together with others' in many ways. */
const model: Script = ({ caller: { depth, profile, task, turn } }) => {
  const latency_ms = 1 + ((task.length * 3 + turn * 5 + depth) % 7);
  if (profile === "leaf") {
    const calls = [{ tool: "list_files", input: {} }];
    return turn < 3 ? { calls, latency_ms } : { text: `${task} is done`, latency_ms };
  }
  if (turn > 1) return { text: `${task} is done`, latency_ms };
  const calls =
    profile === "lead"
      ? [delegateTo("middle", "a middle"), delegateTo("leaf", "leaf"), delegateTo("leaf", "a leaf")]
      : [delegateTo("leaf", "deep leaf"), delegateTo("leaf", "another deep leaf")];
  return { calls, latency_ms };
};

const { run } = StatementSync.prototype;
afterEach(() => {
  StatementSync.prototype.run = run;
  vi.restoreAllMocks();
});

interface HeldTimer {
  readonly ms: number;
  readonly act: () => void;
}

/** Timers of these lengths go off when the test says so. */
function holdTimers(...lengths: readonly number[]): HeldTimer[] {
  const waiting: HeldTimer[] = [];
  const set = globalThis.setTimeout;
  const hold = (act: () => void, ms = 0, ...more: []) => {
    if (!lengths.includes(ms)) return set(act, ms, ...more);
    waiting.push({ ms, act });
    return set(() => undefined, 2 ** 30);
  };
  vi.spyOn(globalThis, "setTimeout").mockImplementation(hold as typeof setTimeout);
  return waiting;
}

/** How long an end that could not be written waits, time after time. */
const waits = [250, 500, 1000, 2000, 4000];

/** From the so many-th commit on so many of them fail, as SQLite says it. Gives how many there were. */
function failCommits(at: number, count: number, errcode: number): () => number {
  let commits = 0;
  StatementSync.prototype.run = new Proxy(run, {
    apply(target, statement: StatementSync, parameters) {
      if (statement.sourceSQL === "COMMIT") {
        commits += 1;
        if (commits >= at && commits < at + count) {
          throw Object.assign(new Error("the disk failed"), { errcode });
        }
      }
      return Reflect.apply(target, statement, parameters);
    },
  });
  return () => commits;
}

const faults = [
  ["is full at one of them", 1, 13],
  ["is full for a moment", 3, 13],
  ["cannot write one of them", 1, 778],
  ["cannot sync some of them", 3, 1034],
  ["stays broken", 10_000, 778],
] as const;

async function commitsOfOne(): Promise<number> {
  await using engine = await openEngine({ model, profiles });
  const counted = failCommits(Number.POSITIVE_INFINITY, 0, 0);
  expect((await engine.run({ task: "all", profile: "lead" })).result.status).toBe("completed");
  StatementSync.prototype.run = run;
  return counted();
}

/**
 * The disk that fails here is SQLite's. Who started a run that is spread waits for what the log says
 * of it, and a full disk says nothing.
 */
const isElsewhere = isDistributed || isOnPostgres;

// The fixture runs the checker over whatever is left when it is disposed of.
test.skipIf(isElsewhere).each(faults)(
  "a run whose disk %s has a sound log, at each of its commits",
  async (...fault) => {
    const [, count, code] = fault;
    const commits = await commitsOfOne();
    // On a busy machine more of what is written shares a commit.
    expect(commits).toBeGreaterThan(4);
    for (let at = 1; at <= commits; at++) {
      await using engine = await openEngine({ model, profiles });
      failCommits(at, count, code);
      const started = await engine.start({ task: "all", profile: "lead" }).catch(() => undefined);
      const result = await started?.result;
      StatementSync.prototype.run = run;
      if (started === undefined) continue;
      engine.abandon();
      await using after = await engine.another({ model, profiles });
      for (const recovered of await after.engine.recover()) await recovered.result;
      const again = await after.engine.resultOf(started.runId);
      // Not even its start was written, and recovery has nothing to do.
      if (again === null) expect(result?.status, `commit ${at}`).toBe("failed");
      // Nobody was told of a success that is not in the log.
      else if (result?.status === "completed") expect(again.status).toBe("completed");
    }
  },
  120_000,
);

async function untilEnded(
  { store }: TestEngine,
  runId: string,
  timers: HeldTimer[] = [],
): Promise<void> {
  await until("the run ends", async () => {
    for (const { act } of timers.splice(0)) act();
    return (await store.readRun(runId))?.outcome !== null;
  });
}

/** How often each delegation was closed, and the run was finished. */
function endsIn(events: readonly StoredEvent[]): readonly number[] {
  const created = events.filter(({ type }) => type === "agent.subagent_created");
  const closed = events.filter(({ type }) => type === "agent.subagent_closed");
  const ofEach = created.map(
    ({ sub_agent_id: id }) => closed.filter((one) => one.sub_agent_id === id).length,
  );
  return [...ofEach, events.filter(({ type }) => type === "run.finished").length];
}

const shortages = [
  ["is full", 13, "storage_full"],
  ["cannot be written", 778, "worker_lost"],
] as const;

test.skipIf(isElsewhere).each(shortages)(
  "a run whose end could not be written because the disk %s is ended by the same process when it can be, as was told",
  async (_title, code, reason) => {
    const commits = await commitsOfOne();
    const timers = holdTimers(...waits);
    let late = 0;
    for (let at = 2; at <= commits; at++) {
      timers.length = 0;
      await using engine = await openEngine({ model, profiles });
      failCommits(at, Number.POSITIVE_INFINITY, code);
      const { result, runId } = await engine.start({ task: "all", profile: "lead" });
      const told = await result;
      StatementSync.prototype.run = run;
      if (told.status === "completed") continue;
      late += 1;
      expect(told, `commit ${at}`).toMatchObject({ status: "failed", closeReason: reason });
      await untilEnded(engine, runId, timers);
      const events = await engine.events(runId);
      expect(new Set(endsIn(events)), `commit ${at}`).toEqual(new Set([1]));
      const { status, closeReason, result: text } = told;
      const stored = await engine.engine.resultOf(runId);
      expect(stored).toMatchObject({ status, closeReason, result: text });
      // Nothing is left for anybody, now or after the next start.
      engine.abandon();
      await using after = await engine.another({ model, profiles });
      expect(await after.engine.recover()).toEqual([]);
      expect(await after.events(runId)).toEqual(events);
    }
    expect(late).toBeGreaterThan(2);
  },
  120_000,
);

test.skipIf(isElsewhere)(
  "while a disk stays full it is tried seldom, however many ends wait for it",
  async () => {
    await using engine = await openEngine({ model, profiles });
    const tried = failCommits(20, Number.POSITIVE_INFINITY, 13);
    const timers = holdTimers(...waits);
    const runs = [];
    for (let number = 0; number < 8; number++) {
      const started = engine.start({ task: `${number}`, profile: "lead" });
      runs.push(await started.catch(() => undefined));
    }
    await Promise.all(runs.map((one) => one?.result));
    for (const ms of waits.slice(0, 4)) {
      const timer = await until("one of them waits", () => timers[0]);
      expect(timers).toMatchObject([{ ms }]);
      timers.length = 0;
      const before = tried();
      timer.act();
      await until("it is tried, and waits again", () => timers.length > 0);
      expect(tried() - before).toBe(1);
    }
    StatementSync.prototype.run = run;
    for (const one of runs) if (one) await untilEnded(engine, one.runId, timers);
    const rows = await engine.store.listRuns({ open: true });
    expect(rows).toEqual([]);
  },
);

test.skipIf(isElsewhere)(
  "a run that was ended by somebody else meanwhile is ended once",
  async () => {
    await using engine = await openEngine({ model, profiles });
    failCommits(4, Number.POSITIVE_INFINITY, 13);
    const timers = holdTimers(...waits);
    const { result, runId } = await engine.start({ task: "all", profile: "lead" });
    await result;
    StatementSync.prototype.run = run;
    const timer = await until("its end waits", () => timers[0]);
    expect(await engine.engine.cancel(runId, "It takes too long.")).toBe("cancelled");
    timer.act();
    // Whatever it writes comes before the end of a run that starts now.
    await engine.run({ task: "another", profile: "leaf" });
    const events = await engine.events(runId);
    expect(new Set(endsIn(events))).toEqual(new Set([1]));
    expect(await engine.engine.resultOf(runId)).toMatchObject({ closeReason: "cancelled" });
  },
);

test.skipIf(isElsewhere)(
  "a call that its program takes back while the disk is full ends, and nothing else does",
  async () => {
    const asked = Promise.withResolvers<void>();
    const slow: Script = () => {
      asked.resolve();
      return { fault: "stall" };
    };
    await using engine = await openEngine({ model: slow, profiles });
    const session = await engine.engine.openSession({ client: "another program", workspace: null });
    const taking = new AbortController();
    const call = session.call(
      "delegate_task",
      { profile: "leaf", task: "wait" },
      { signal: taking.signal },
    );
    const ended = call.catch((error: unknown) => error);
    await asked.promise;
    failCommits(1, 2, 13);
    taking.abort();
    await ended;
    StatementSync.prototype.run = run;
    const [root] = await engine.store.listRuns({});
    await session.close();
    if (root) await untilEnded(engine, root.id);
    expect(new Set(endsIn(await engine.events(root?.id ?? "")))).toEqual(new Set([1]));
  },
);

test.skipIf(isElsewhere).each([1, 2, 3])(
  "a run that the disk keeps from being taken up is taken up when there is room: commit %i",
  async (at) => {
    const asked = Promise.withResolvers<void>();
    const slow: Script = () => {
      asked.resolve();
      return { fault: "stall" };
    };
    await using engine = await openEngine({ model: slow, profiles });
    const session = await engine.engine.openSession({ client: "another program", workspace: null });
    await engine.start({ task: "one", profile: "leaf" });
    await asked.promise;
    engine.abandon();
    await session.close().catch(() => undefined);
    await using after = await engine.another({ model: () => "done", profiles });
    failCommits(at, 1, 13);
    await after.engine.recover(undefined, () => undefined);
    StatementSync.prototype.run = run;
    await until(
      "no run is open",
      async () => (await after.store.listRuns({ open: true })).length === 0,
    );
  },
);
