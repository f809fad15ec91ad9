import { beforeEach, expect, test } from "vitest";
import type { Script } from "../../models/scripted/scripted-model.ts";
import { isDistributed, notOffered } from "../../testing/alter-database.test-support.ts";
import { ofType, openEngine, type TestEngine, testProfile } from "../../testing/engine-fixture.ts";
import { Hold } from "../../testing/hold-tool.test-support.ts";
import { until } from "../../testing/until.ts";
import { replayAgain } from "./replay-again.test-support.ts";

beforeEach(({ skip }) => skip(isDistributed, notOffered.replay));

const same = { differences: [], isFinished: true };
const profiles = [
  testProfile("lead", {
    tools: ["spawn", "spawn_await", "send_message"],
    mayDelegate: { tools: ["hold", "look"] },
  }),
  testProfile("worker", { tools: ["hold"] }),
];
const call = (tool: string, input: object = {}) => ({ calls: [{ tool, input }] });
const spawned = (messages: Parameters<Script>[0]["messages"]): string =>
  messages.find((one) => one.role === "tool" && one.tool === "spawn")?.text ?? "";

/** The lead spawns a worker, tells it two things while it is held, and waits for it. */
function script(hold: Hold): Script {
  return async ({ caller, messages }) => {
    const job = spawned(messages);
    const tell = (message: string) => call("send_message", { delegationId: job, message });
    if (caller.profile === "worker") {
      if (caller.turn === 1) return call("hold");
      return `heard ${messages.filter(({ role }) => role === "user").length - 1}`;
    }
    if (caller.turn === 1) return call("spawn", { profile: "worker", task: "work" });
    if (caller.turn === 2) {
      await hold.begun;
      return tell("one");
    }
    if (caller.turn === 3) return tell("two");
    if (caller.turn === 4) hold.release();
    if (caller.turn === 4) return call("spawn_await", { job_ids: job });
    return `done: ${messages.at(-1)?.text.split("\n").at(-1)}`;
  };
}

async function finished(engine: TestEngine, runId: string): Promise<void> {
  await until("the run ends", async () => (await engine.store.readRun(runId))?.outcome !== null);
}

test("messages that an agent sent are sent again by it, and read at the same places", async () => {
  const hold = new Hold();
  await using engine = await openEngine({ profiles, tools: [hold.tool], model: script(hold) });
  const { events, result, runId } = await engine.run({ task: "go", profile: "lead" });
  expect(result.result).toBe("done: heard 2");
  expect(ofType(events, "agent.interjected")).toHaveLength(2);
  const replayed = await replayAgain(engine.store, runId);
  expect(replayed).toMatchObject({ ...same, events: events.length });
});

test("a message that put off an answer puts it off again", async () => {
  const [asked, told] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const model: Script = async ({ caller }) => {
    if (caller.turn > 1) return "the better answer";
    asked.resolve();
    await told.promise;
    return "the first answer";
  };
  const thinker = testProfile("thinker", { tools: [] });
  await using engine = await openEngine({ profiles: [thinker], model });
  const { delegationId, result, runId } = await engine.start({ task: "go", profile: "thinker" });
  await asked.promise;
  await engine.engine.send(delegationId, "and c", "person");
  told.resolve();
  expect((await result).result).toBe("the better answer");
  expect(await replayAgain(engine.store, runId)).toMatchObject(same);
});

test("a message that was not read is not read again", async () => {
  const [asked, told] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const once = testProfile("once", { tools: [], limits: { turns: 1 } });
  const model: Script = async () => {
    asked.resolve();
    await told.promise;
    return "the only answer";
  };
  await using engine = await openEngine({ profiles: [once], model });
  const { delegationId, result, runId } = await engine.start({ task: "go", profile: "once" });
  await asked.promise;
  await engine.engine.send(delegationId, "too late", "person");
  told.resolve();
  await result;
  expect(await replayAgain(engine.store, runId)).toMatchObject(same);
});

test("messages that were sent before their worker died are read by the one that takes over", async () => {
  const hold = new Hold();
  const held: Script = ({ caller, messages }) =>
    caller.turn === 1
      ? call("hold")
      : `heard ${messages.filter(({ role }) => role === "user").length - 1}`;
  await using engine = await openEngine({ profiles, tools: [hold.tool], model: held });
  const { delegationId, runId } = await engine.start({ task: "go", profile: "worker" });
  await hold.begun;
  await engine.engine.send(delegationId, "one", "person");
  await engine.engine.send(delegationId, "two", "caller");
  engine.abandon();
  hold.release();
  const next = new Hold();
  next.release();
  const second = await engine.another({ profiles, tools: [next.tool], model: held });
  const [recovered] = await second.engine.recover(runId);
  expect((await recovered?.result)?.result).toBe("heard 2");
  await finished(second, runId);
  expect(await replayAgain(second.store, runId)).toMatchObject(same);
});

test("messages of the moments in which it answers are met again as they were", async () => {
  const lead = testProfile("lead", { tools: ["list_files"] });
  await using engine = await openEngine({
    profiles: [lead],
    model: ({ caller }) => (caller.turn === 1 ? call("list_files") : "done"),
  });
  const { workspace } = engine;
  const sending: Promise<unknown>[] = [];
  engine.store.subscribe((events) => {
    for (const { sub_agent_id: id = "", type } of events) {
      // In the same breath in which it ends: the log takes the message, or says that it has ended.
      if (type === "agent.model_turn") {
        sending.push(engine.engine.send(id, "now", "person").catch(() => undefined));
      }
    }
  });
  const { runId } = await engine.run({ task: "go", profile: "lead", workspace });
  await Promise.all(sending);
  await finished(engine, runId);
  expect(await replayAgain(engine.store, runId)).toMatchObject(same);
});
