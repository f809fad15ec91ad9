import { describe, expect, it } from "vitest";
import type { StoredEvent } from "../events/event.ts";
import type { Script } from "../models/scripted/scripted-model.ts";
import type { ModelRequest } from "../ports/model.ts";
import { readSession } from "../sessions/read-session.ts";
import {
  type EngineOptions,
  ofType,
  openEngine,
  recording,
  testProfile,
} from "../testing/engine-fixture.ts";
import { Hold } from "../testing/hold-tool.test-support.ts";
import { until } from "../testing/until.ts";
import {
  delegate,
  isRunPaused,
  openWith,
  Scene,
  startScene,
} from "./suspend/interrupt-scene.test-support.ts";

const fromPerson = (text: string) => `Message from the person behind this run: ${text}`;
const fromCaller = (text: string) => `Message from the agent or program that you work for: ${text}`;

const worker = testProfile("worker", { tools: ["hold", "ask_user", "delegate_task"] });
const leaf = testProfile("leaf", { tools: ["hold"] });
const call = (tool: string, input: object = {}) => ({ calls: [{ tool, input }] });

/** A root that works by this script, and a call of its that the test can hold. */
async function atWork(script: Script, options: EngineOptions = {}, profile = "worker") {
  const hold = new Hold();
  const { seen, model } = recording(script);
  const engine = await openEngine({
    model,
    profiles: [worker, leaf],
    tools: [hold.tool],
    ...options,
  });
  const started = await engine.start({ task: "go", profile });
  return { engine, hold, seen, ...started };
}

/** What the user said to the model in a request, its task left out. */
function said({ messages }: ModelRequest | undefined = { messages: [] } as never): string[] {
  return messages.flatMap((one) => (one.role === "user" ? one.text : [])).slice(1);
}

/** The order in which messages were sent and read, and turns taken. */
function course(events: readonly StoredEvent[], id: string): readonly string[] {
  return events.flatMap((event) => {
    if (event.sub_agent_id !== id) return [];
    if (event.type === "agent.message_sent") return `sent ${event.payload.message}`;
    if (event.type === "agent.interjected") return `read ${event.payload.message}`;
    return event.type === "agent.budget_reserved" ? "turn" : [];
  });
}

describe("a message to a running agent", () => {
  it("is read before its next turn, and once", async () => {
    const { delegationId, engine, hold, result, runId, seen } = await atWork(({ caller }) =>
      caller.turn < 3 ? call("hold") : "done",
    );
    await using _engine = engine;
    await hold.begun;
    const sent = await engine.engine.send(delegationId, "look at b", "person");
    expect(sent).toEqual({ delegationId, messageId: expect.stringMatching(/^m/) });
    hold.release();
    await result;
    expect(seen.map(said)).toEqual([[], [fromPerson("look at b")], [fromPerson("look at b")]]);
    const events = await engine.events(runId);
    expect(course(events, delegationId)).toEqual([
      ...["turn", "sent look at b", "read look at b", "turn", "turn"],
    ]);
    expect(ofType(events, "agent.interjected")[0]?.payload).toMatchObject({
      from: "person",
      severity: "info",
      message_id: sent.messageId,
    });
  });

  it("keeps the order in which several were sent, by several senders", async () => {
    const { delegationId, engine, hold, result, seen, runId } = await atWork(({ caller }) =>
      caller.turn === 1 ? call("hold") : "done",
    );
    await using _engine = engine;
    await hold.begun;
    await engine.engine.send(delegationId, "one", "person");
    // A run's id means its root.
    await engine.engine.send(runId, "two", "caller");
    await engine.engine.send(delegationId, "three", "person");
    hold.release();
    await result;
    const expected = [fromPerson("one"), fromCaller("two"), fromPerson("three")];
    expect(seen.map(said)).toEqual([[], expected]);
  });

  it("that it gets while it waits for a slot is read before its first turn", async () => {
    const { engine, hold, seen } = await atWork(
      ({ caller }) => (caller.profile === "worker" && caller.turn === 1 ? call("hold") : "done"),
      { maxConcurrent: 1 },
    );
    await using _engine = engine;
    await hold.begun;
    const second = await engine.start({ task: "second", profile: "leaf" });
    expect(
      (await engine.store.readRun(second.runId))?.delegations.get(second.delegationId),
    ).toMatchObject({ status: "created" });
    await engine.engine.send(second.delegationId, "early", "caller");
    hold.release();
    await second.result;
    expect(seen.filter(({ caller }) => caller.profile === "leaf").map(said)).toEqual([
      [fromCaller("early")],
    ]);
  });

  it("that it gets while a person is asked is read with the answer, and answers nothing", async () => {
    const { delegationId, engine, result, seen } = await atWork(({ caller }) =>
      caller.turn === 1 ? call("ask_user", { message: "Which one?" }) : "done",
    );
    await using _engine = engine;
    const [ask] = await until("the question", async () => {
      const open = await askedIn(engine);
      return open.length > 0 && open;
    });
    await engine.engine.send(delegationId, "not an answer", "person");
    expect(await askedIn(engine)).toHaveLength(1);
    expect(await engine.engine.answer(ask?.payload.ask_id ?? "", "the left one")).toBe(true);
    await result;
    const last = seen.at(-1)?.messages.slice(-2);
    expect(last).toMatchObject([
      { role: "tool", text: "the left one" },
      { role: "user", text: fromPerson("not an answer"), from: "person" },
    ]);
  });

  it("that it gets while it waits for a child is its own, and is read after the child's result", async () => {
    const { delegationId, engine, hold, result, seen } = await atWork(({ caller }) => {
      if (caller.turn > 1) return "done";
      return caller.profile === "leaf"
        ? call("hold")
        : call("delegate_task", { profile: "leaf", task: "x" });
    });
    await using _engine = engine;
    await hold.begun;
    await engine.engine.send(delegationId, "for the parent", "person");
    hold.release();
    await result;
    const ofLeaf = seen.filter(({ caller }) => caller.profile === "leaf");
    expect(ofLeaf.map(said)).toEqual([[], []]);
    expect(seen.at(-1)?.messages.at(-2)).toMatchObject({ role: "tool", tool: "delegate_task" });
    expect(said(seen.at(-1))).toEqual([fromPerson("for the parent")]);
  });

  it("is sent by another process that shares the database, and read before the next turn", async () => {
    const { delegationId, engine, hold, result, seen } = await atWork(({ caller }) =>
      caller.turn === 1 ? call("hold") : "done",
    );
    await using _engine = engine;
    await hold.begun;
    await using other = await engine.another({ model: () => "never asked" });
    await other.engine.send(delegationId, "from beside", "person");
    // The owner need not have heard of it by now: it looks.
    hold.release();
    await result;
    expect(seen.map(said)).toEqual([[], [fromPerson("from beside")]]);
  });

  it("stays with the task in another attempt", async () => {
    const { delegationId, engine, hold, result, seen } = await atWork(
      ({ caller }) => {
        if (caller.attempt === 2) return "done";
        return caller.turn === 1 ? call("hold") : { fault: "empty" };
      },
      { limits: { maxRetries: 1 } },
    );
    await using _engine = engine;
    await hold.begun;
    await engine.engine.send(delegationId, "mind the gap", "caller");
    hold.release();
    expect((await result).evidence.attempts).toBe(2);
    const second = seen.filter(({ caller }) => caller.attempt === 2);
    expect(second.map(said)).toEqual([[fromCaller("mind the gap")]]);
  });

  it("waits with one that is paused, and is read when that is resumed", async () => {
    const scene = new Scene(delegate("rester", "a"));
    await using mandate = await openWith(scene);
    const { runId } = await startScene(mandate, 2);
    const { settled } = await mandate.engine.interrupt(runId, "later");
    await settled;
    const states = [...((await mandate.store.readRun(runId))?.delegations.values() ?? [])];
    const resting = states.find(({ profile }) => profile === "rester")?.id ?? "";
    expect(await isRunPaused(mandate, runId)).toBe(true);
    await mandate.engine.send(resting, "after your rest", "person");
    expect(await isRunPaused(mandate, runId)).toBe(true);
    scene.mayStop = true;
    const [resumed] = await mandate.engine.recover(runId);
    await resumed?.result;
    const ofResting = (await mandate.events(runId)).filter(
      (event) => event.sub_agent_id === resting,
    );
    const after = ofResting.slice(ofResting.findIndex(({ type }) => type === "agent.resumed"));
    expect(after.map(({ type }) => type)).toContain("agent.interjected");
    expect(course(await mandate.events(runId), resting).slice(-3)).toEqual([
      ...["sent after your rest", "read after your rest", "turn"],
    ]);
  });
});

describe("a message to an agent that is about to end", () => {
  /** Its model answers only when the test says so. */
  function answering(): { readonly asked: Promise<void>; answer(): void; readonly script: Script } {
    const [asked, may] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    return {
      asked: asked.promise,
      answer: () => may.resolve(),
      async script({ caller }) {
        if (caller.turn > 1) return "the better answer";
        asked.resolve();
        await may.promise;
        return "the first answer";
      },
    };
  }

  it("comes before its end: it takes another turn", async () => {
    const { answer, asked, script } = answering();
    const { delegationId, engine, result, runId, seen } = await atWork(script);
    await using _engine = engine;
    await asked;
    await engine.engine.send(delegationId, "and c", "person");
    answer();
    expect(await result).toMatchObject({ status: "completed", result: "the better answer" });
    expect(seen.map(said)).toEqual([[], [fromPerson("and c")]]);
    expect(seen.at(-1)?.messages.at(-2)).toMatchObject({ text: "the first answer" });
    expect(course(await engine.events(runId), delegationId)).toEqual([
      ...["turn", "sent and c", "read and c", "turn"],
    ]);
  });

  it("comes before its end also where a tool is its end, which it has to call again", async () => {
    const closer = testProfile("closer", {
      tools: ["complete_task"],
      exit: { tools: ["complete_task"] },
    });
    const { answer, asked, script } = answering();
    const { delegationId, engine, result, seen } = await atWork(
      async (request) => call("complete_task", { summary: String(await script(request)) }),
      { profiles: [closer] },
      "closer",
    );
    await using _engine = engine;
    await asked;
    await engine.engine.send(delegationId, "and c", "caller");
    answer();
    expect(await result).toMatchObject({ status: "completed", result: "the better answer" });
    expect(seen.map(said)).toEqual([[], [fromCaller("and c")]]);
  });

  it.each([
    { title: "its turns are used up", limits: { turns: 1 } },
    { title: "its budget holds no further turn", limits: { tokens: 3000 } },
  ])("is not read where $title, and the inbox and the session say so", async ({ limits }) => {
    const { answer, asked, script } = answering();
    const short = testProfile("short", { tools: [], limits });
    const { delegationId, engine, result, runId, seen } = await atWork(
      async (request) => ({
        text: String(await script(request)),
        usage: { prompt: 2000, completion: 10 },
      }),
      { profiles: [short], limits: { maxOutputTokens: 300, maxRetries: 0 } },
      "short",
    );
    await using _engine = engine;
    await asked;
    await engine.engine.send(delegationId, "too late", "person");
    answer();
    expect(await result).toMatchObject({ status: "completed", result: "the first answer" });
    expect(seen).toHaveLength(1);
    expect(course(await engine.events(runId), delegationId)).toEqual(["turn", "sent too late"]);
    const state = await engine.store.readRun(runId);
    expect(state?.delegations.get(delegationId)?.mail).toMatchObject([{ message: "too late" }]);
    const { entries } = await readSession(engine.store, delegationId);
    const notes = entries.flatMap((entry) => (entry.kind === "note" ? entry.text : []));
    expect(notes).toContain("It ended before it read this message from a person: too late");
    const items = await engine.store.readInbox({ limit: 50 });
    expect(items.map(({ title }) => title)).toContain(
      "short finished without reading a message: go",
    );
  });
});

describe("a message that cannot be sent", () => {
  it("to one that has ended is refused with how it ended, and nothing is written", async () => {
    const { delegationId, engine, result, runId } = await atWork(() => "done");
    await using _engine = engine;
    await result;
    const before = await engine.events(runId);
    await expect(engine.engine.send(delegationId, "hello", "person")).rejects.toMatchObject({
      code: "already-terminal",
      message: `${delegationId} has ended: completed (report accepted). It reads no more messages.`,
    });
    await expect(engine.engine.send(runId, "hello", "person")).rejects.toThrow("has ended");
    await expect(engine.engine.send("ffffff", "hello", "person")).rejects.toMatchObject({
      code: "unknown-delegation",
    });
    expect(await engine.events(runId)).toEqual(before);
  });

  it("because it is empty, or too long, is refused before anything is written", async () => {
    const { delegationId, engine, hold, result, runId } = await atWork(({ caller }) =>
      caller.turn === 1 ? call("hold") : "done",
    );
    await using _engine = engine;
    await hold.begun;
    for (const text of ["", " \n ", "x".repeat(32_001)]) {
      await expect(engine.engine.send(delegationId, text, "person")).rejects.toMatchObject({
        code: "usage",
      });
    }
    expect(ofType(await engine.events(runId), "agent.message_sent")).toEqual([]);
    await engine.engine.send(delegationId, "x".repeat(32_000), "person");
    hold.release();
    await result;
  });

  it("because a hundred wait already is refused, also when all are sent at once", async () => {
    const { delegationId, engine, hold, result, runId, seen } = await atWork(({ caller }) =>
      caller.turn === 1 ? call("hold") : "done",
    );
    await using _engine = engine;
    await hold.begun;
    const texts = Array.from({ length: 103 }, (_, index) => `message ${index}`);
    const outcomes = await Promise.allSettled(
      texts.map((text) => engine.engine.send(delegationId, text, "person")),
    );
    const refused = outcomes.flatMap((one) => (one.status === "rejected" ? one.reason : []));
    expect(refused).toHaveLength(3);
    for (const reason of refused) expect(String(reason)).toContain("which is the limit");
    hold.release();
    await result;
    // The log says in which order those that were sent at once were accepted.
    const accepted = texts.filter((_, index) => outcomes[index]?.status === "fulfilled");
    const sent = ofType(await engine.events(runId), "agent.message_sent");
    const inOrder = sent.map(({ payload }) => payload.message);
    expect([...inOrder].sort()).toEqual([...accepted].sort());
    expect(said(seen.at(-1))).toEqual(inOrder.map(fromPerson));
  });

  it("to the agent of another program is refused: it has no turns here", async () => {
    await using engine = await openEngine({ model: () => "done" });
    const session = await engine.engine.openSession({ client: "desk" });
    await expect(engine.engine.send(session.delegationId, "hello", "person")).rejects.toMatchObject(
      { code: "usage" },
    );
    await session.close();
  });
});

async function askedIn(engine: Awaited<ReturnType<typeof openEngine>>) {
  const found: StoredEvent<"agent.asked">[] = [];
  for await (const event of engine.store.readEvents({})) {
    if (event.type === "agent.asked") found.push(event);
  }
  return found;
}
