import { setTimeout as pause } from "node:timers/promises";
import type { Result } from "@modelcontextprotocol/server";
import { describe, expect, it } from "vitest";
import type { Principal } from "../../../control/records/principal.ts";
import type { LiveTask } from "./live-task.ts";
import type { Task } from "./task.ts";
import { Tasks, type TasksOptions } from "./tasks.ts";

const alice: Principal = { id: "alice", role: "operator" };
const bob: Principal = { id: "bob", role: "operator" };
const done: Result = { content: [] };

async function begin(
  tasks: Tasks,
  work: (task: LiveTask) => Promise<Result>,
  signal = new AbortController().signal,
): Promise<Task> {
  const begun = await tasks.begin({ owner: alice, tool: "wait", signal, work });
  if (!("task" in begun)) throw new Error("It was answered at once.");
  return begun.task;
}

const slowly = async (live: LiveTask): Promise<Result> => {
  await pause(10_000, undefined, { signal: live.signal, ref: false });
  return done;
};

const open = (options: TasksOptions = {}): Tasks => new Tasks({ graceMs: 10, ...options });

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
    const tasks = open({ graceMs: 50 });
    const early = new AbortController();
    const taken = begin(tasks, slowly, early.signal);
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
    const work = async (live: LiveTask) => {
      await pause(60);
      live.onDelegation("abc123");
      return slowly(live);
    };
    const begun = await tasks.begin({ owner: alice, tool: "run", delegates: true, signal, work });
    expect(begun).toMatchObject({ task: { taskId: "run.abc123", ttlMs: null } });
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
    const { taskId } = await begin(tasks, async () => {
      await pause(40);
      return done;
    });
    await tasks.cancel(alice, taskId);
    await pause(80);
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
    await pause(10);
    const after = await tasks.get(alice, taskId);
    expect(after?.state).toEqual({ status: "completed", result: { answers: ["one", "two"] } });
  });

  it("can be asked for as long as it said, and is forgotten afterwards", async () => {
    let now = 0;
    const tasks = open({ now: () => now, ttlMs: 1000 });
    const { taskId, ttlMs } = await begin(tasks, async () => {
      await pause(30);
      return done;
    });
    const working = await begin(tasks, slowly);
    expect(ttlMs).toBe(1000);
    await pause(60);
    now = 1000;
    expect(await tasks.get(alice, taskId)).toBeDefined();
    now = 1001;
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
    await begin(tasks, async (live) => {
      await pause(30);
      live.report("half");
      return done;
    });
    await pause(60);
    stop();
    expect(heard).toEqual(["working half", "completed half"]);
  });
});
