import { afterEach, beforeEach, expect, test } from "vitest";
import { Desk, type Typing, until } from "./desk.test-support.ts";

/** The root answers while its child waits for a person, who lets it end. */
const playbook = `
version: 1
replies:
  - when: { depth: 0, turn: 1 }
    calls: [{ tool: spawn_subagent, input: { agentId: general, prompt: "look", returnMode: background } }]
  - when: { depth: 1, turn: 1 }
    calls: [{ tool: ask_user, input: { message: "May I end?" } }]
  - when: { depth: 1 }
    text: "Found it."
  - text: "I started it."
`;

const waiting = /Waiting for 1 sub-agent in the background: general#(\w+)\./;

let desk: Desk;

beforeEach(() => {
  desk = new Desk();
  desk.write("book.yaml", playbook);
});
afterEach(() => desk.clear());

const run = (...more: string[]) =>
  desk.start(["run", "--playbook", "book.yaml", ...more, "survey"]);

async function read(...words: string[]) {
  return JSON.parse((await desk.type([...words, "--json"])).out);
}

async function hears(typing: Typing, text: RegExp): Promise<string> {
  await until(() => text.test(typing.soFar().err), String(text));
  return text.exec(typing.soFar().err)?.[1] ?? "";
}

/** Answers the question of the child, so that it ends. */
async function release(typing: Typing): Promise<void> {
  const id = await hears(typing, /mandate answer (q\w+)/);
  await desk.type(["answer", id, "yes"]);
}

test("run prints the answer at once and only then, names who still works, and waits for them", async () => {
  const typing = run();
  const child = await hears(typing, waiting);
  expect(typing.soFar().out).toBe("I started it.\n");
  expect(typing.soFar().err).toContain(`mandate cancel ${child} cancels one`);
  await release(typing);
  expect(await typing.done).toMatchObject({ code: 0, out: "I started it.\n" });
  expect((await read("ls"))[0]).toMatchObject({ state: "succeeded" });
  expect((await read("tree")).delegations[0].children[0]).toMatchObject({
    ...{ delegationId: child, outcome: "completed" },
  });
});

test("ls, tree and show say that the run has answered and who still works", async () => {
  const typing = run();
  const child = await hears(typing, waiting);
  const said = "answered, 1 sub-agent at work";
  for (const command of ["ls", "tree", "show"]) {
    expect((await desk.type([command])).out).toContain(said);
  }
  expect((await desk.type(["command", "/tree"])).out).toContain(said);
  const [root] = (await read("tree")).delegations;
  expect(root.waitingOn).toEqual({ on: "child", detail: child });
  expect((await read("ls"))[0]).toMatchObject({ state: "running", runningAfterAnswer: [child] });
  const answer = { text: "I started it.", truncated: false, running: [child] };
  expect(await read("show")).toMatchObject({ answer, result: null });
  const shown = await desk.type(["show", root.delegationId]);
  expect(shown.out).toContain(said);
  expect(shown.out).toContain("Result\n  I started it.");
  await release(typing);
  await typing.done;
  expect((await desk.type(["tree"])).out).not.toContain("answered");
});

test("--json is one document, printed at the end", async () => {
  const typing = run("--json");
  await hears(typing, waiting);
  expect(typing.soFar().out).toBe("");
  await release(typing);
  const { code, out } = await typing.done;
  expect(code).toBe(0);
  expect(JSON.parse(out)).toMatchObject({
    ...{ outcome: "succeeded", result: "I started it." },
    subDelegations: [{ status: "completed", result: "Found it." }],
  });
});

test("run --continue tells its answer at once as well", async () => {
  const first = run();
  await release(first);
  await first.done;
  const typing = desk.start(["run", "--continue", "again"]);
  await hears(typing, waiting);
  expect(typing.soFar().out).toBe("I started it.\n");
  await release(typing);
  expect(await typing.done).toMatchObject({ code: 0, out: "I started it.\n" });
});

test("--background cancel cancels them after the answer, which is no failure", async () => {
  const { code, err, out } = await run("--background", "cancel").done;
  expect({ code, out }).toEqual({ code: 0, out: "I started it.\n" });
  expect(err).toMatch(/general#\w+ was cancelled\./);
  const [root] = (await read("tree")).delegations;
  expect(root).toMatchObject({ outcome: "completed", children: [{ outcome: "cancelled" }] });
});

test("--background takes one of three words, and is refused beside queued tasks and plans", async () => {
  expect(await run("--background", "later").done).toMatchObject({
    code: 2,
    err: 'mandate: --background takes wait, detach, cancel; it is "later".\n',
  });
  const goals = ["run", "--playbook", "book.yaml", "--background", "detach", "--goal", "one"];
  const { code, err } = await desk.type(goals);
  expect(code).toBe(2);
  expect(err).toContain("--queue and --plan wait for all");
});

test("Ctrl-C after the answer stops those who still work as their contracts say", async () => {
  const typing = run();
  await hears(typing, waiting);
  typing.signal("SIGINT");
  const { code, err, out } = await typing.done;
  expect({ code, out }).toEqual({ code: 130, out: "I started it.\n" });
  expect(err).toMatch(/r\w+ had answered; its background sub-agents were stopped/);
  expect((await read("ls"))[0]).toMatchObject({ state: "succeeded" });
});

test("a signal of the system leaves the run open, and resume works on it to its end", async () => {
  const typing = run();
  await hears(typing, waiting);
  typing.signal("SIGTERM");
  expect((await typing.done).code).toBe(143);
  const [{ id, state }] = await read("ls");
  expect(state).toBe("interrupted");
  const resuming = desk.start(["resume", id]);
  await hears(resuming, waiting);
  expect(resuming.soFar().out).toBe("I started it.\n");
  await release(resuming);
  expect(await resuming.done).toMatchObject({ code: 0, out: "I started it.\n" });
});

test("resume --wait takes a run over when the process that works on it lets go of it", async () => {
  const typing = run();
  await hears(typing, waiting);
  const [{ id }] = await read("ls");
  const resuming = desk.start(["resume", "--wait", id]);
  typing.signal("SIGTERM");
  await typing.done;
  await hears(resuming, waiting);
  await release(resuming);
  expect(await resuming.done).toMatchObject({ code: 0, out: "I started it.\n" });
});

test("resume --wait of a run that ends where it is worked on starts nothing", async () => {
  const typing = run();
  await hears(typing, waiting);
  const [{ id }] = await read("ls");
  const resuming = desk.start(["resume", "--wait", id]);
  await release(typing);
  await typing.done;
  const { code, err, out } = await resuming.done;
  expect({ code, out }).toEqual({ code: 0, out: "" });
  expect(err).toContain(`${id} has ended`);
  expect(await read("ls")).toHaveLength(1);
});
