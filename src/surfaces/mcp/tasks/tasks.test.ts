import type { Result } from "@modelcontextprotocol/server";
import { describe, expect, it } from "vitest";
import type { Principal } from "../../../control/records/principal.ts";
import { ManualClock } from "../../../testing/manual-clock.ts";
import { until } from "../../../testing/until.ts";
import type { LiveTask } from "./live-task.ts";
import type { Task } from "./task.ts";
import { Tasks, type TasksOptions } from "./tasks.ts";

const alice: Principal = { id: "alice", role: "operator" };
const bob: Principal = { id: "bob", role: "operator" };
const done: Result = { content: [] };

async function begin(
  tasks: Tasks & { readonly clock: ManualClock },
  work: (task: LiveTask) => Promise<Result>,
  signal = new AbortController().signal,
): Promise<Task> {
  const beginning = tasks.begin({ owner: alice, tool: "wait", signal, work });
  await tasks.clock.advance(graceMs);
  const begun = await beginning;
  if (!("task" in begun)) throw new Error("It was answered at once.");
  return begun.task;
}

/** Works until it is cancelled. */
const slowly = (live: LiveTask): Promise<Result> =>
  new Promise((_resolve, reject) => {
    const end = (): void => reject(live.signal.reason);
    if (live.signal.aborted) end();
    else live.signal.addEventListener("abort", end, { once: true });
  });

const graceMs = 10;

function open(options: TasksOptions = {}): Tasks & { readonly clock: ManualClock } {
  const clock = new ManualClock();
  return Object.assign(new Tasks({ graceMs, clock, ...options }), { clock });
}

describe("a call", () => {
  it("that is done at once is answered without a task", async () => {
    const signal = new AbortController().signal;
    const begun = await open().begin({ owner: alice, tool: "t", signal, work: async () => done });
    expect(begun).toEqual({ result: done });
  });

  it("that fails at once fails as a request", async () => {
    const signal = new AbortController().signal;
    const work = () => Promise.reject(new Error("no"));
    await expect(open().begin({ owner: alice, tool: "t", signal, work })).rejects.toThrow("no");
  });

  it("that is taken back before it is a task is cancelled; afterwards it goes on", async () => {
    const tasks = open();
    const early = new AbortController();
    const taken = tasks.begin({ owner: alice, tool: "t", signal: early.signal, work: slowly });
    early.abort();
    await expect(taken).rejects.toThrow();
    const late = new AbortController();
    const { taskId } = await begin(tasks, slowly, late.signal);
    late.abort();
    expect((await tasks.get(alice, taskId))?.state.status).toBe("working");
  });

  it("that waits for its delegation's name becomes a task when it has one", async () => {
    const idOf = (tool: string, id: string) => `${tool}.${id}`;
    const unused = async () => undefined;
    const durable = {
      idOf,
      read: unused,
      questions: async () => ({}),
      answer: unused,
      cancel: unused,
    };
    const tasks = open({ durable });
    const signal = new AbortController().signal;
    const named = Promise.withResolvers<void>();
    const work = async (live: LiveTask) => {
      await named.promise;
      live.onDelegation("abc123");
      return slowly(live);
    };
    const begun = tasks.begin({ owner: alice, tool: "run", delegates: true, signal, work });
    await tasks.clock.advance(6 * graceMs);
    named.resolve();
    expect(await begun).toMatchObject({ task: { taskId: "run.abc123", ttlMs: null } });
  });
});

describe("a task", () => {
  it("is known to its owner alone, and to nobody else can be told from none", async () => {
    const tasks = open();
    const { taskId } = await begin(tasks, slowly);
    expect(await tasks.get(bob, taskId)).toBeUndefined();
    expect(await tasks.cancel(bob, taskId)).toBe(false);
    expect(await tasks.answer(bob, taskId, {})).toBe(false);
    expect(await tasks.cancel(bob, "no-such-task")).toBe(false);
    expect((await tasks.get(alice, taskId))?.state.status).toBe("working");
  });

  it("has no id that can be guessed", async () => {
    const tasks = open();
    const ids = await Promise.all([begin(tasks, slowly), begin(tasks, slowly)]);
    for (const { taskId } of ids) expect(taskId).toMatch(/^[0-9a-f]{8}-[0-9a-f-]{27}$/);
    expect(new Set(ids.map(({ taskId }) => taskId)).size).toBe(2);
  });

  it("stays cancelled, whatever its call still gives", async () => {
    const tasks = open();
    const given = Promise.withResolvers<Result>();
    const { taskId } = await begin(tasks, () => given.promise);
    await tasks.cancel(alice, taskId);
    given.resolve(done);
    await tasks.clock.advance(graceMs);
    expect((await tasks.get(alice, taskId))?.state).toEqual({ status: "cancelled" });
    expect(await tasks.cancel(alice, taskId)).toBe(true);
  });

  it("takes the first answer to each question, and passes over what it did not ask", async () => {
    const tasks = open();
    const question = { method: "roots/list" } as const;
    const { taskId } = await begin(tasks, async (live) => {
      const answers = await Promise.all([live.requestInput(question), live.requestInput(question)]);
      return { answers };
    });
    const { state } = (await tasks.get(alice, taskId)) ?? {};
    const [first = "", second = ""] = Object.keys(
      state?.status === "input_required" ? state.inputRequests : {},
    );
    await tasks.answer(alice, taskId, { [first]: "one", __proto__: "x", nobody: "asked" });
    await tasks.answer(alice, taskId, { [first]: "again", [second]: "two" });
    const after = await until("the task completes", async () => {
      const task = await tasks.get(alice, taskId);
      return task?.state.status === "completed" && task;
    });
    expect(after.state).toEqual({ status: "completed", result: { answers: ["one", "two"] } });
  });

  it("can be asked for as long as it said, and is forgotten afterwards", async () => {
    const tasks = open({ ttlMs: 1000 });
    const given = Promise.withResolvers<Result>();
    const { taskId, ttlMs } = await begin(tasks, () => given.promise);
    const working = await begin(tasks, slowly);
    expect(ttlMs).toBe(1000);
    given.resolve(done);
    // The first task was begun at 0, and by now two graces have passed.
    await tasks.clock.advance(1000 - 2 * graceMs);
    expect((await tasks.get(alice, taskId))?.state.status).toBe("completed");
    await tasks.clock.advance(1);
    expect(await tasks.get(alice, taskId)).toBeUndefined();
    expect(await tasks.get(alice, working.taskId)).toBeDefined();
  });

  it("is not begun when its owner has as many as it may", async () => {
    const tasks = open({ maxPerOwner: 1 });
    expect(tasks.hasRoomFor(alice)).toBe(true);
    await begin(tasks, slowly);
    expect(tasks.hasRoomFor(alice)).toBe(false);
    expect(tasks.hasRoomFor(bob)).toBe(true);
  });

  it("tells its owner how it goes, and nobody else", async () => {
    const tasks = open();
    const heard: string[] = [];
    tasks.watch(bob, () => heard.push("bob"));
    const stop = tasks.watch(alice, ({ state, statusMessage }) =>
      heard.push(`${state.status} ${statusMessage}`),
    );
    const halfway = Promise.withResolvers<void>();
    await begin(tasks, async (live) => {
      await halfway.promise;
      live.report("half");
      return done;
    });
    halfway.resolve();
    await until("the task completes", () => heard.length >= 2);
    stop();
    expect(heard).toEqual(["working half", "completed half"]);
  });
});
