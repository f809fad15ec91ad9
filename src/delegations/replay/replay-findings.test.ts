import { expect, test } from "vitest";
import {
  alterDatabase,
  isDistributed,
  notOffered,
} from "../../testing/alter-database.test-support.ts";
import { openEngine, type TestEngine, testProfile } from "../../testing/engine-fixture.ts";
import { compareRuns } from "./compare-runs.ts";
import { recordingOf } from "./recording.ts";
import { replayAgain } from "./replay-again.test-support.ts";

const profiles = [testProfile("boss", { capabilities: ["primary"] }), testProfile("worker")];

function open(word: string): Promise<TestEngine> {
  return openEngine({
    profiles,
    model({ caller }) {
      if (caller.profile === "worker") return `${word} ${caller.task}`;
      if (caller.turn > 1) return "done";
      return {
        calls: ["a", "b"].map((task) => ({
          tool: "delegate_task",
          input: { profile: "worker", task },
        })),
      };
    },
  });
}

test("two runs that met the same are the same, whatever their ids and times", async () => {
  await using engine = await open("did");
  const one = await engine.run({ task: "go", profile: "boss" });
  const other = await engine.run({ task: "go", profile: "boss" });
  expect(one.runId).not.toBe(other.runId);
  expect(compareRuns(one.events, other.events)).toEqual([]);
});

test("where two runs part is said for each delegation, by its place in the tree", async ({
  skip,
}) => {
  skip(isDistributed, notOffered.replay);
  await using engine = await open("did");
  await using changed = await open("made");
  const one = await engine.run({ task: "go", profile: "boss" });
  const other = await changed.run({ task: "go", profile: "boss" });
  const found = compareRuns(one.events, other.events, { names: ["before", "after"] });
  expect(found.map(({ path }) => path)).toEqual(["boss", "boss › 1 worker", "boss › 2 worker"]);
  expect(found[1]?.message).toBe(
    'event 5, agent.model_turn: text is "did a" in before and "made a" in after.',
  );
  const shorter = compareRuns(one.events, one.events.slice(0, -1));
  expect(shorter).toMatchObject([{ path: "the run itself", seq: { other: null } }]);
  const lonely = compareRuns(
    one.events,
    one.events.filter(
      ({ sub_agent_id: id }) =>
        id !==
        one.events.find(
          (event) => event.type === "agent.subagent_created" && event.payload.parent_id !== null,
        )?.sub_agent_id,
    ),
  );
  expect(lonely.map(({ message }) => message)).toContainEqual(expect.stringContaining("only in"));
});

test("an answer that is missing in the recording is a finding, and the replay ends", async ({
  skip,
}) => {
  skip(isDistributed, notOffered.replay);
  await using engine = await open("did");
  const { events, runId } = await engine.run({ task: "go", profile: "boss" });
  const child = events.find(
    (event) => event.type === "agent.subagent_created" && event.payload.parent_id !== null,
  );
  const { store } = engine;
  // The log as it would be, had it lost what one child's model said.
  const forgetful = new Proxy(store, {
    get(target, key) {
      if (key === "inspect") return undefined;
      const value: unknown = Reflect.get(target, key);
      if (typeof value !== "function") return value;
      if (key !== "readEvents") return value.bind(target);
      return async function* (query: Parameters<typeof store.readEvents>[0]) {
        for await (const event of store.readEvents(query)) {
          const isLost = event.type === "agent.model_turn" || event.type === "agent.budget_settled";
          if (!isLost || event.sub_agent_id !== child?.sub_agent_id) yield event;
        }
      };
    },
  });
  const { differences } = await replayAgain(forgetful, runId);
  expect(differences.map(({ path }) => path)).toContain("boss › 1 worker");
});

test("a run that is still open is replayed as far as it goes, and said to be open", async () => {
  await using engine = await openEngine({
    profiles,
    model: ({ caller }) =>
      caller.turn === 1
        ? { calls: [{ tool: "list_files", input: {} }] }
        : new Promise<never>(() => undefined),
  });
  const { result, runId } = await engine.start({
    task: "go",
    profile: "boss",
    workspace: engine.workspace,
  });
  await new Promise<void>((resolve) => {
    engine.store.subscribe((events) => {
      if (
        events.some(
          (event) => event.type === "agent.budget_reserved" && event.payload.request === 2,
        )
      )
        resolve();
    });
  });
  const replayed = await replayAgain(engine.store, runId);
  expect(replayed).toMatchObject({ isFinished: false, differences: [], delegations: 1 });
  await engine.engine.cancel(runId, "enough");
  await result;
});

test("a run that does not exist, or whose log is damaged, is refused in the checker's words", async () => {
  await using engine = await openEngine({
    profiles,
    breaks: ["I1", "I2", "I6", "I7"],
    model: () => "done",
  });
  const { delegationId, runId } = await engine.run({ task: "go", profile: "boss" });
  await expect(recordingOf("r000000", engine.store)).rejects.toThrow(/no run "r000000"/);
  await expect(recordingOf(delegationId, engine.store)).rejects.toThrow(`belongs to run ${runId}`);
  await alterDatabase(
    engine,
    "UPDATE sub_agents SET context_json = replace(context_json, 'go', 'no')",
  );
  await expect(replayAgain(engine.store, runId)).rejects.toThrow(
    /The log of run r[0-9a-f]+ is damaged at event \d+ and cannot be replayed: I2/,
  );
});
