import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openStore } from "../../open-store.ts";
import { until as untilFound } from "../../testing/until.ts";
import { Desk, type Typing, until } from "./desk.test-support.ts";

const asking = `
version: 1
replies:
  - when: { turn: 1, task: paint }
    calls: [{ tool: ask_user, input: { message: "Which\\x1b[31m colour?" } }]
  - when: { tool: ask_user }
    text: "It will be {{last}}."
  - when: { last: interrupted }
    text: "I went on."
  - latency_ms: 60000
    text: "Too late."
`;

let desk: Desk;

beforeEach(() => {
  desk = new Desk();
  desk.write("book.yaml", asking);
});

afterEach(() => desk.clear());

function run(task: string, ...more: string[]): Typing {
  return desk.start(["run", "--playbook", "book.yaml", ...more, task]);
}

async function latestRun(): Promise<{ id: string; state: string }> {
  return JSON.parse((await desk.type(["ls", "--json"])).out)[0];
}

async function isAt(typing: Typing, text: string | RegExp): Promise<string> {
  const matches = () => new RegExp(text).exec(typing.soFar().err);
  await until(() => matches() !== null, String(text));
  return matches()?.[1] ?? "";
}

test("a question at a pipe is printed with the command that answers it, and that command works", async () => {
  const typing = run("paint it");
  const command = await isAt(typing, /Answer it from another terminal: mandate (answer q\w+) "…"/);
  expect(typing.soFar().err).toMatch(/\? general \w+ asks .*\n {2}Which colour\?\n/);
  const { code, out } = await desk.type([...command.split(" "), "dark", "blue"]);
  expect({ code, out }).toMatchObject({ code: 0, out: expect.stringMatching(/^Answered q/) });
  expect(await typing.done).toMatchObject({ code: 0, out: "It will be dark blue.\n" });
  const late = await desk.type([...command.split(" "), "red"]);
  expect(late.code).toBe(1);
  expect(late.err).toMatch(/no longer waits for an answer/);
});

test("a question at a terminal is answered in place", async () => {
  const prompts: string[] = [];
  const ask = async (prompt: string) => {
    prompts.push(prompt);
    return "green";
  };
  const words = ["run", "--playbook", "book.yaml", "paint it"];
  const { code, out, err } = await desk.type(words, { ask, terminal: { columns: 80, rows: 24 } });
  expect({ code, out, prompts }).toEqual({
    code: 0,
    out: "It will be green.\n",
    prompts: ["  your answer: "],
  });
  // Behind a bar, and never broken by the terminal: it cannot pass for a line of ours.
  expect(err).toContain("  │ Which colour?\n".replace("│", "\u001b[2m│\u001b[22m"));
});

test("a question that is answered elsewhere is taken back from the terminal", async () => {
  let wasTakenBack = false;
  const ask = (_prompt: string, signal: AbortSignal) =>
    new Promise<string>((_resolve, reject) => {
      signal.addEventListener("abort", () => {
        wasTakenBack = true;
        reject(new Error("taken back"));
      });
    });
  const typing = desk.start(["run", "--playbook", "book.yaml", "paint it"], { ask });
  await isAt(typing, "asks");
  const events = (await desk.type(["logs", "--json"])).out
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  const { ask_id } = events.find(({ type }) => type === "agent.asked").payload;
  await desk.type(["answer", ask_id, "white"]);
  expect(await typing.done).toMatchObject({ code: 0, out: "It will be white.\n" });
  expect(wasTakenBack).toBe(true);
});

test("a question that nobody answers in time gets the default", async () => {
  const typing = run("paint it", "--answer-default", "grey", "--answer-within", "30ms");
  expect(await typing.done).toMatchObject({ code: 0 });
  expect(typing.soFar().out).toContain("grey");
});

test("the first Ctrl-C cancels and says how to go on; going on works", async () => {
  const typing = run("wait");
  await isAt(typing, "created as general");
  typing.signal("SIGINT");
  const { code, out, err } = await typing.done;
  const { id } = await latestRun();
  expect({ code, out }).toEqual({ code: 130, out: "" });
  expect(err).toContain(`${id} was cancelled. Resume: mandate resume ${id}`);
  expect(await latestRun()).toMatchObject({ state: "cancelled" });
  const resumed = await desk.type(["resume", id]);
  expect(resumed).toMatchObject({ code: 0, out: "I went on.\n" });
  expect(resumed.err).toContain("answers from book.yaml");
});

const helping = `
version: 1
replies:
  - when: { profile: helper, task: quick }
    latency_ms: 300
    text: "Helped."
  - when: { profile: helper, turn: 1 }
    latency_ms: 1
    calls: [{ tool: ask_user, input: { message: "Shall I?" } }]
  - when: { profile: helper }
    text: "Helped after all."
  - when: { turn: 1 }
    calls: [{ tool: delegate_task, input: { profile: helper, task: "{{task}}" } }]
  - text: "I went on."
`;

function helper(onParentInterrupt: string): void {
  desk.write("helping.yaml", helping);
  mkdirSync(join(desk.folder, ".mandate", "agents"), { recursive: true });
  const head = `description: Helps\ntools: [ask_user]\nonParentInterrupt: ${onParentInterrupt}`;
  desk.write(".mandate/agents/helper.md", `---\n${head}\n---\nYou help.\n`);
}

test("Ctrl-C lets a child that continues by its contract come to its end first", async () => {
  helper("continue");
  await desk.type(["profiles", "trust", "--all"]);
  const typing = desk.start(["run", "--playbook", "helping.yaml", "quick"]);
  await isAt(typing, "created as helper");
  typing.signal("SIGINT");
  const { code, err } = await typing.done;
  expect(code).toBe(130);
  expect(err).toContain("waiting for sub-agents whose contracts say continue");
  const { id, state } = await latestRun();
  expect(err).toContain(`${id} was cancelled.`);
  expect(state).toBe("cancelled");
  expect((await desk.type(["tree", id])).out).toMatch(/helper .*completed|✓ helper/);
});

test("Ctrl-C pauses a child whose contract says so, nobody takes it up, and resume does", async () => {
  helper("pause");
  await desk.type(["profiles", "trust", "--all"]);
  const typing = desk.start(["run", "--playbook", "helping.yaml", "slow"]);
  await isAt(typing, "asks");
  typing.signal("SIGINT");
  const { code, err } = await typing.done;
  const { id, state } = await latestRun();
  expect(code).toBe(130);
  expect(err).toContain(`${id} was paused. Resume: mandate resume ${id}`);
  expect(state).toBe("interrupted");
  const other = await desk.type([
    "run",
    "--playbook",
    "book.yaml",
    "--answer-within",
    "1ms",
    "paint",
  ]);
  expect(other.err).not.toContain(id);
  const resumed = desk.start(["resume", id]);
  const ask = /mandate (answer q\w+)/.exec(typing.soFar().err)?.[1] ?? "";
  await isAt(resumed, `Run ${id} continues where it stopped.`);
  await desk.type([...ask.split(" "), "yes"]);
  expect(await resumed.done).toMatchObject({ code: 0, out: "I went on.\n" });
});

test("the second Ctrl-C leaves at once", async () => {
  const typing = run("wait");
  await isAt(typing, "created as general");
  typing.signal("SIGINT");
  typing.signal("SIGINT");
  expect(typing.left).toEqual([130]);
  await typing.done;
});

test("a polite signal cancels nothing: the run is interrupted, and the next start offers to resume it", async () => {
  const id = await interruptedRun();
  expect((await desk.type(["ls"])).err).toContain(`mandate resume ${id}`);
  expect((await desk.type(["tree"])).out).toMatch(/■ general .*interrupted/);
  desk.aheadMs = 5 * 60_000;
  const next = atTerminal("paint the other", "y");
  await isAt(next, `Run ${id} continues where it stopped.`);
  expect(next.prompts[0]).toBe(
    `1 run was interrupted: ${id} "paint it", 5 min ago. Resume it? (y/N) `,
  );
  for (const { ask } of await openQuestions(2)) await desk.type(["answer", ask.id, "pink"]);
  expect(await next.done).toMatchObject({ code: 0, out: "It will be pink.\n" });
  expect(await statesOfRuns()).toEqual(["succeeded", "succeeded"]);
  expect(next.soFar().err).not.toContain("is not finished");
});

/** Somebody is there, who answers the offer and no question of an agent. */
function atTerminal(task: string, offer: string): Typing & { readonly prompts: string[] } {
  const prompts: string[] = [];
  const ask = (prompt: string, signal: AbortSignal) => {
    prompts.push(prompt);
    return prompt.includes("(y/N)")
      ? Promise.resolve(offer)
      : new Promise<string>((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(new Error("taken back")));
        });
  };
  const terminal = { columns: 80, rows: 24 };
  const words = ["run", "--playbook", "book.yaml", task];
  return Object.assign(desk.start(words, { ask, terminal }), { prompts });
}

async function openQuestions(count: number) {
  return untilFound("the questions", async () => {
    const { items } = JSON.parse((await desk.type(["inbox", "--open", "--json"])).out);
    return items.length === count && (items as { runId: string; ask: { id: string } }[]);
  });
}

async function statesOfRuns(): Promise<readonly string[]> {
  const runs = JSON.parse((await desk.type(["ls", "--json"])).out);
  return runs.map(({ state }: { state: string }) => state);
}

async function interruptedRun(task = "paint it"): Promise<string> {
  const typing = run(task);
  await isAt(typing, "asks");
  typing.signal("SIGTERM");
  expect((await typing.done).code).toBe(143);
  const { id, state } = await latestRun();
  expect(state).toBe("interrupted");
  return id;
}

const otherWork: readonly (readonly string[])[] = [
  ["wait"],
  ["--goal", "wait"],
  ["--continue", "wait on"],
];

test.each(otherWork)(
  "without a terminal `run %s` names an interrupted run, and leaves it alone",
  async (...words) => {
    if (words[0] === "--continue") await run("wait", "--speed", "60000").done;
    const id = await interruptedRun();
    const given = ["--playbook", "book.yaml", "--speed", "60000"];
    // The session that is continued is the earlier one, and not the interrupted one.
    const [session = ""] = words[0] === "--continue" ? await sessionIds() : [];
    const rest = words[0] === "--continue" ? ["--continue", session, "wait on"] : words;
    const before = (await desk.type(["logs", id])).out;
    const { code, out, err } = await desk.type(["run", ...given, ...rest]);
    expect({ code, out }).toEqual({ code: 0, out: "Too late.\n" });
    const lines = err.split("\n").filter((line) => line.includes("interrupted"));
    expect(lines.map((line) => line.replace(/, [^,.]*\. /, ", AGE. "))).toEqual([
      `1 run was interrupted: ${id} "paint it", AGE. Resume: mandate resume ${id}; drop: mandate cancel ${id}`,
    ]);
    expect((await desk.type(["logs", id])).out).toBe(before);
  },
);

test("an interrupted run of another folder is named with that folder", async () => {
  const id = await interruptedRun();
  const cwd = join(desk.folder, "other");
  mkdirSync(cwd);
  const words = ["run", "--playbook", "../book.yaml", "--speed", "60000", "wait"];
  const { err } = await desk.type(words, { cwd });
  expect(err).toContain(`, in ${desk.folder}. Resume: mandate resume ${id}`);
});

test("a message to a session whose run was interrupted is refused, with the way to resume it", async () => {
  const id = await interruptedRun();
  const words = ["run", "--playbook", "book.yaml", "--continue", id, "and now?"];
  const { code, out, err } = await desk.type(words);
  expect({ code, out }).toEqual({ code: 1, out: "" });
  expect(err).toMatch(new RegExp(`\\w+ has not ended.* resume its run: mandate resume ${id}\n`));
  // The run that the message is about is not offered beside it.
  expect(err).not.toContain("1 run was interrupted");
  expect(await statesOfRuns()).toEqual(["interrupted"]);
});

async function sessionIds(): Promise<readonly string[]> {
  const sessions = JSON.parse((await desk.type(["sessions", "list", "--json"])).out);
  return sessions
    .filter(({ status }: { status: string }) => status !== "interrupted")
    .map(({ id }: { id: string }) => id);
}

test.each(["", "n", "what?"])(
  "at a terminal the answer %j leaves interrupted runs alone, all of them",
  async (answer) => {
    const ids = [await interruptedRun(), await interruptedRun("paint another")];
    const typing = atTerminal("paint the third", answer);
    const [{ ask }] = (await untilFound("its question", async () => {
      const { items } = JSON.parse((await desk.type(["inbox", "--open", "--json"])).out);
      return (
        items.length === 3 && items.filter(({ runId }: { runId: string }) => !ids.includes(runId))
      );
    })) as [{ ask: { id: string } }];
    await desk.type(["answer", ask.id, "red"]);
    expect(await typing.done).toMatchObject({ code: 0, out: "It will be red.\n" });
    expect(typing.prompts[0]).toBe("Resume them? (y/N) ");
    expect(typing.soFar().err).toMatch(
      /2 runs were interrupted:\n {2}r\w+ "paint another", .*\n {2}r\w+ "paint it", .*\n/,
    );
    expect(typing.soFar().err).toContain("To drop a run: mandate cancel ID");
    expect(await statesOfRuns()).toEqual(["succeeded", "interrupted", "interrupted"]);
  },
);

test("Ctrl-C at the offer leaves, and nothing was started", async () => {
  await interruptedRun();
  let typing: Typing | undefined;
  const ask = (_prompt: string, signal: AbortSignal) =>
    new Promise<string>((_resolve, reject) => {
      signal.addEventListener("abort", () => reject(new Error("aborted")));
      queueMicrotask(() => typing?.signal("SIGINT"));
    });
  typing = desk.start(["run", "--playbook", "book.yaml", "paint another"], { ask });
  expect(await typing.done).toMatchObject({ code: 130, out: "" });
  expect(await statesOfRuns()).toEqual(["interrupted"]);
});

test.each(["SIGINT", "SIGTERM"] as const)(
  "at a terminal a run that was resumed beside the new one goes on, until %s leaves it",
  async (signal) => {
    const other = await interruptedRun();
    const typing = atTerminal("paint another", "yes");
    const own = (await openQuestions(2)).find(({ runId }) => runId !== other);
    await desk.type(["answer", own?.ask.id ?? "", "blue"]);
    await isAt(typing, `${own?.runId} has ended. Still working on ${other};`);
    typing.signal(signal);
    const { code, out, err } = await typing.done;
    expect({ code, out }).toEqual({ code: 0, out: "It will be blue.\n" });
    expect(err).toContain(`${other} is not finished. Resume: mandate resume ${other}`);
    expect(err).not.toContain(`resume ${own?.runId}`);
    expect(await statesOfRuns()).toEqual(["succeeded", "interrupted"]);
  },
);

test("resume takes an interrupted run up, with the playbook it was started with", async () => {
  const typing = run("paint it");
  await isAt(typing, "asks");
  typing.signal("SIGTERM");
  await typing.done;
  const { id } = await latestRun();
  const resumed = desk.start(["resume", id]);
  const ask = await isAt(resumed, /mandate answer (q\w+)/);
  await desk.type(["answer", ask, "black"]);
  expect(await resumed.done).toMatchObject({ code: 0, out: "It will be black.\n" });
  expect(await latestRun()).toMatchObject({ id, state: "succeeded" });
});

test("a run on a playbook is not taken up by a start without it", async () => {
  const typing = run("paint it");
  await isAt(typing, "asks");
  typing.signal("SIGTERM");
  await typing.done;
  const { err } = await desk.type(["run", "something else"]);
  expect(err).not.toContain("was interrupted");
  expect((await desk.type(["ls"])).out).toMatch(/interrupted .*paint it/);
});

test("somebody else cancels the run, and whoever works on it hears of it", async () => {
  const typing = run("wait");
  await isAt(typing, "created as general");
  const { id } = await latestRun();
  const busy = await desk.type(["resume", id]);
  expect(busy.err).toContain(
    `Process ${process.pid} works on ${id}. Watch it: mandate logs ${id} --follow. To end it: mandate cancel ${id}`,
  );
  const cancelled = await desk.type(["cancel", id, "--reason", "enough"]);
  expect(cancelled.out).toContain(`Cancelled ${id}. Resume: mandate resume ${id}`);
  const { code, err } = await typing.done;
  expect(code).toBe(1);
  expect(err).toContain("mandate: cancelled: enough");
});

test("a run that another process takes over is left to it", async () => {
  const typing = run("wait");
  await isAt(typing, "created as general");
  const { id } = await latestRun();
  const store = await openStore({ environment: { MANDATE_HOME: desk.home } });
  const by = { worker: "1.1.other.1", fence: 2 };
  await store.append({ runId: id, by, events: [{ type: "run.resumed", payload: by }] });
  await store.close();
  const { code, err } = await typing.done;
  expect(code).toBe(1);
  expect(err).toContain(`another process works on ${id} now`);
});

test("logs --follow goes on until the run ends", async () => {
  const typing = run("paint it");
  const ask = await isAt(typing, /mandate answer (q\w+)/);
  const following = desk.start(["logs", "--follow"]);
  await until(() => following.soFar().out.includes("asks:"), "the past");
  await desk.type(["answer", ask, "gold"]);
  const { code, out } = await following.done;
  expect(code).toBe(0);
  expect(out).toMatch(/answered by person: gold[\s\S]*run succeeded/);
  await typing.done;
});
