import { expect, test } from "vitest";
import { replayAgain } from "../delegations/replay/replay-again.test-support.ts";
import type { StartedRun } from "../ports/delegator.ts";
import { setSessionWorkspace, type WorkspaceMode } from "../sessions/session-records.ts";
import { ofType, openEngine, recording, testProfile } from "../testing/engine-fixture.ts";
import { until } from "../testing/until.ts";
import { Forks } from "./replay.ts";

const profiles = [
  testProfile("boss", { capabilities: ["primary"] }),
  testProfile("rival", { capabilities: ["primary"], tools: ["delegate_task"] }),
  testProfile("worker", { tools: ["list_files"] }),
];
const delegate = (task: string, context?: string) => ({
  tool: "delegate_task",
  input: { profile: "worker", task, ...(context !== undefined && { context }) },
});

/** First one child, then two at once of which one never ends, then an end. */
function open(forks: Forks, live: { isFork: boolean }) {
  const { model, seen } = recording(({ caller }) => {
    if (caller.profile === "worker") {
      if (caller.task === "slow" && !live.isFork) return new Promise<never>(() => undefined);
      return `${live.isFork ? "again" : "first"}: ${caller.task}`;
    }
    if (caller.turn === 1 && !live.isFork) return { calls: [delegate("alone")] };
    const isHalf = caller.turn === (live.isFork ? 1 : 2);
    return isHalf ? { calls: [delegate("quick", "all of it"), delegate("slow")] } : "done";
  });
  const middleware = [forks.middleware];
  return openEngine({ profiles, model, middleware }).then((engine) => ({ engine, seen }));
}

/** A run that was cancelled in the middle of its second turn, and the event at which it was. */
async function interrupted() {
  const [forks, live] = [new Forks(), { isFork: false }];
  const { engine, seen } = await open(forks, live);
  // Something before it: numbers in the run are not those in the store.
  await engine.store.noteCommand("/help", "ann", "done");
  const { result, runId } = await engine.start({ task: "go", profile: "boss" });
  const closed = await new Promise<number>((resolve) => {
    let count = 0;
    engine.store.subscribe((events) => {
      for (const { run_seq: number, type } of events) {
        if (type === "agent.subagent_closed" && ++count === 2) resolve(number);
      }
    });
  });
  await engine.engine.cancel(runId, "enough");
  await result;
  live.isFork = true;
  return { at: closed, engine, forks, runId, seen, asked: seen.length };
}

test("a fork shares the turns before it, reuses finished children, and is live from there", async () => {
  const { asked, at, engine, forks, runId, seen } = await interrupted();
  await using _engine = engine;
  const forked = await forks.fork(engine, { runId, at });
  const result = await forked.result;
  expect(result).toMatchObject({ status: "completed", result: "done" });
  expect(forked).toMatchObject({ turns: 1 });
  // In the new run, only the root and the child that had not finished asked a model.
  expect(seen.slice(asked).map(({ caller }) => [caller.profile, caller.task])).toEqual([
    ["boss", "go"],
    ["worker", "slow"],
    ["boss", "go"],
  ]);
  const [first] = seen.slice(asked);
  expect(first?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "user"]);
  expect(first?.messages[2]?.text).toContain("first: alone");
  const events = await engine.events(forked.runId);
  const told = ofType(events, "agent.tool_completed").map(({ payload }) => payload.output);
  expect(told.some((output) => output.includes("first: quick"))).toBe(true);
  const taken = ofType(events, "agent.model_turn").filter(({ payload }) => payload.taken_from);
  expect(taken.map(({ payload }) => payload.text)).toEqual(["first: quick"]);
  expect(ofType(events, "agent.subagent_created")[0]?.payload).toMatchObject({
    resumed_at: (await engine.events(runId))[forked.sharedUpTo - 1]?.seq,
  });
  expect(await replayAgain(engine.store, forked.runId)).toMatchObject({ differences: [] });
});

test("another profile goes on with the same conversation and another word", async () => {
  const { asked, at, engine, forks, runId, seen } = await interrupted();
  await using _engine = engine;
  const forked = await forks.fork(engine, { runId, at, profile: "rival", task: "Now you." });
  expect((await forked.result).profile).toBe("rival");
  const [first] = seen.slice(asked);
  expect(first?.caller.profile).toBe("rival");
  expect(first?.tools.map(({ name }) => name)).toEqual(["delegate_task"]);
  expect(first?.messages.at(-1)).toMatchObject({ role: "user", text: "Now you." });
});

test("before the end of the first turn only the task is shared, and what children finished", async () => {
  const { asked, engine, forks, runId, seen } = await interrupted();
  await using _engine = engine;
  const forked = await forks.fork(engine, { runId, at: 3 });
  await forked.result;
  expect(forked.turns).toBe(0);
  expect(seen[asked]?.messages).toEqual([{ role: "user", text: "Task:\ngo" }]);
});

test("a fork whose worker dies goes on with the conversation that it was forked with", async () => {
  const { at, engine, forks, runId } = await interrupted();
  await using _engine = engine;
  const started = await forks.fork(engine, { runId, at });
  engine.abandon();
  const { model, seen } = recording(() => "done after all");
  const second = await engine.another({ profiles, model });
  await second.engine.recover(started.runId);
  const run = await second.store.readRun(started.runId);
  expect(run?.delegations.size).toBeGreaterThan(0);
  const outcome = await until(
    "the fork ends",
    async () => (await second.store.readRun(started.runId))?.outcome,
  );
  expect(outcome).toBe("succeeded");
  expect(seen.at(-1)?.messages[2]?.text).toContain("first: alone");
});

test("a fork of a run whose session was made read-only since writes nothing, until that is taken back", async () => {
  const writer = testProfile("writer", {
    ...{ tools: ["write_file"], capabilities: ["primary"], workspace: { isolation: "shared" } },
  });
  await using engine = await openEngine({ profiles: [writer], model: () => "done" });
  const { store, workspace } = engine;
  const { runId } = await engine.run({
    ...{ task: "go", profile: "writer", workspace, session: "terminal" },
  });
  const set = (mode: WorkspaceMode) =>
    setSessionWorkspace(store, "terminal", mode, { id: "ada", role: "operator" });
  const rootsOf = async ({ delegationId, result }: StartedRun) => {
    await result;
    return (await store.readContract(delegationId)).permissions.write_roots;
  };
  await set("readonly");
  const fork = await new Forks().fork(engine, { runId, at: 3 });
  expect(await rootsOf(fork)).toEqual([]);
  await set("writable");
  const again = await new Forks().fork(engine, { runId: fork.runId, at: 3 });
  expect(await rootsOf(again)).toEqual([workspace]);
  expect(await rootsOf(await engine.engine.continueSession(fork.runId, "more"))).toEqual([
    workspace,
  ]);
});

test.each([
  [{ runId: "r000000", at: 1 }, /no run "r000000"/],
  [{ at: 0 }, /no event 0: its events are 1 to/],
  [{ at: 99_999 }, /no event 99999/],
  [{ at: 10, profile: "nobody" }, /no profile 'nobody'/],
])("what cannot be forked is said: %o", async (asked, sentence) => {
  const { engine, forks, runId } = await interrupted();
  await using _engine = engine;
  await expect(forks.fork(engine, { runId, ...asked })).rejects.toThrow(sentence);
});

test("a fork may cost no more than what it was forked from", async () => {
  const forks = new Forks();
  await using engine = await openEngine({
    profiles,
    middleware: [forks.middleware],
    model: () => "done",
  });
  const { delegationId, runId } = await engine.run({ task: "go", profile: "boss", maxCost: 0.5 });
  const contractOf = (id: string) => engine.store.readContract(id);
  expect((await contractOf(delegationId)).budget.cost).toBe(0.5);
  const forked = await forks.fork(engine, { runId, at: 2 });
  await forked.result;
  expect((await contractOf(forked.delegationId)).budget.cost).toBe(0.5);
});
