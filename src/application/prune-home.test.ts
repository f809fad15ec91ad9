import { describe, expect, it } from "vitest";
import { recordingOf } from "../delegations/replay/recording.ts";
import { costReport } from "../sessions/cost-report.ts";
import { readRunOf } from "../sessions/read-run.ts";
import { readSession } from "../sessions/read-session.ts";
import {
  type EngineOptions,
  openEngine,
  type TestEngine,
  testProfile,
} from "../testing/engine-fixture.ts";
import { HeldClock } from "../testing/held-clock.test-support.ts";
import { ManualClock } from "../testing/manual-clock.ts";
import { until } from "../testing/until.ts";
import { pruneHome, startRetention } from "./retention.ts";

const profiles = [
  testProfile("lead", { tools: ["delegate_task"], capabilities: ["primary"] }),
  testProfile("worker", { tools: [] }),
];

const open = (more: EngineOptions = {}) =>
  openEngine({
    profiles,
    ...more,
    model: ({ caller }) =>
      caller.depth === 0 && caller.turn === 1
        ? { calls: [{ tool: "delegate_task", input: { profile: "worker", task: "help" } }] }
        : "done",
  });

const prune = ({ home, store }: TestEngine, more: object = {}) =>
  pruneHome(
    { home, store },
    { finishedBefore: Date.now() + 1000, actor: "ann", most: 1000, ...more },
  );

describe("a run that was pruned", () => {
  it("is said to be wherever somebody asks for it, and the rest holds and costs what it did", async () => {
    await using mandate = await open();
    const { store } = mandate;
    const first = await mandate.run({ task: "first", profile: "lead" });
    const second = await mandate.engine.continueSession(first.runId, "and then");
    await second.result;
    const queries = [{ by: "day" }, { by: "profile" }, { by: "model" }, { by: "run" }] as const;
    const costs = () =>
      Promise.all(queries.map((query) => costReport(store, { ...query, limit: 9 })));
    const before = await costs();
    expect(before[0]?.total.prompt).toBeGreaterThan(0);
    const events = await mandate.events(second.runId);
    const until = (await store.listRuns({})).find(({ id }) => id === first.runId)?.finishedAt ?? 0;
    const report = await prune(mandate, { finishedBefore: until + 1 });
    expect(report.runs.map(({ runId }) => runId)).toEqual([first.runId]);
    expect(await costs()).toEqual(before);
    expect(await mandate.events(second.runId)).toEqual(events);

    const pruned = expect.stringMatching(/was pruned on \d{4}-\d\d-\d\d by ann/);
    const asked = [
      () => recordingOf(first.runId, store),
      // Its conversation begins with that of the one before it.
      () => recordingOf(second.runId, store),
      () => readRunOf(store, first.runId),
      () => readRunOf(store, first.delegationId),
      () => readSession(store, first.delegationId),
      () => mandate.engine.continueSession(first.runId, "more"),
      () => mandate.engine.continueSession(second.runId, "more"),
      () => mandate.engine.resume(first.delegationId),
    ];
    for (const one of asked) {
      await expect(one()).rejects.toMatchObject({ code: /^unknown-/, message: pruned });
    }
    const session = await readSession(store, second.delegationId);
    expect(session.problems).toContainEqual(pruned);
    expect(session.entries.length).toBeGreaterThan(0);
  });
});

describe("retention", () => {
  it("prunes what is old, and nothing where nothing is configured", async () => {
    const hourMs = 60 * 60 * 1000;
    const clock = new ManualClock();
    const startedAt = clock.now();
    const storeClock = new HeldClock();
    const passHour = async () => {
      storeClock.pass(hourMs);
      await clock.advance(hourMs);
    };
    await using mandate = await open({ clock: storeClock });
    await mandate.run({ task: "go", profile: "lead" });
    const said: string[] = [];
    const { home, store } = mandate;
    const configured = (retention: { days?: number; keepFailed: boolean }) =>
      startRetention(
        { config: { retention }, clock, store },
        home,
        ({ message }) => void said.push(message),
      );
    configured({ keepFailed: false });
    expect(clock.waiting).toBe(0);
    const retention = configured({ days: 1, keepFailed: false });
    for (let hour = 0; hour < 5; hour++) await passHour();
    expect(await store.listRuns({})).toHaveLength(1);
    expect(said).toEqual([]);
    await until("it is old enough and pruned", async () => {
      await passHour();
      return said.length > 0;
    });
    expect(clock.now() - startedAt).toBeGreaterThanOrEqual(24 * hourMs);
    expect(said).toEqual([expect.stringMatching(/^Pruned: 1 old runs, /)]);
    expect(await store.listRuns({})).toEqual([]);
    retention.stop();
    expect(clock.waiting).toBe(0);
  });
});
