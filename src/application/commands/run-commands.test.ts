import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Script } from "../../models/scripted/scripted-model.ts";
import { readSession } from "../../sessions/read-session.ts";
import {
  openEngine,
  recording,
  type TestEngine,
  testProfile,
} from "../../testing/engine-fixture.ts";
import { until } from "../../testing/until.ts";
import { stdioServerPath } from "../../tools/mcp/stdio-server.test-support.ts";
import { hear, idsIn, notesOf, operator, say, viewer, withoutIds } from "./say.test-support.ts";

const profiles = [
  testProfile("boss", { capabilities: ["primary"], tools: ["delegate_task", "ask_user"] }),
  testProfile("helper", { tools: [] }),
];

/** The boss asks a helper, who takes its time, and answers. */
function play(gate: Promise<unknown>): Script {
  return async ({ caller }) => {
    if (caller.profile === "helper") {
      await gate;
      return "Forty-two.";
    }
    if (caller.profile !== "boss") return `I am the ${caller.profile}.`;
    return caller.turn === 1
      ? { calls: [{ tool: "delegate_task", input: { profile: "helper", task: "Count.\nAll." } }] }
      : "Done.";
  };
}

const isWorking = (engine: TestEngine, profile: string) => async () =>
  (await say(engine, "/status")).reply.includes(`${profile}#`);

test("what runs is told line by line, and what it came to afterwards", async () => {
  const gate = Promise.withResolvers<void>();
  await using engine = await openEngine({ model: play(gate.promise), profiles });
  expect(await hear(engine, "/status", viewer)).toBe("Nothing runs.");
  expect(await hear(engine, "/budget", viewer)).toBe("Nothing runs.");
  expect(await hear(engine, "/sessions", viewer)).toBe("No sessions yet.");
  expect((await say(engine, "/tree", viewer)).reply).toBe("There are no runs yet.");
  const run = await engine.start({ task: "Find \u001b[31mout", profile: "boss" });
  await until("it is at work", isWorking(engine, "helper"));
  const status = withoutIds((await say(engine, "/status", viewer)).reply).split("\n");
  expect(status[0]).toBe("Running:");
  expect(status[1]).toMatch(/^- boss#D running \(child\), \d+ tokens, run R: Find .*out$/);
  expect(status[2]).toMatch(/^- helper#D running \(model\), 0 tokens, run R: Count.$/);
  expect(status.join("")).not.toContain("\u001b");
  const budget = await hear(engine, "/budget", viewer);
  expect(budget).toMatch(/^Budget:\n- Run R: \d+ of \d+ tokens, \$0\.0000: Find/);
  gate.resolve();
  await run.result;
  expect(await hear(engine, "/status")).toBe("Nothing runs.");
  const tree = await hear(engine, `/tree ${run.runId}`, viewer);
  expect(tree.split("\n")).toEqual([
    expect.stringMatching(/^Run R succeeded: Find/),
    expect.stringMatching(/^- boss#D completed \(report accepted\), \d+ tokens, \$0.0000: Find/),
    expect.stringMatching(/^ {2}- helper#D completed \(report accepted\), \d+ tokens/),
  ]);
  expect(await hear(engine, "/tree")).toBe(tree);
  expect(await hear(engine, `/tree boss#${run.delegationId}`)).toBe(tree);
  expect((await hear(engine, `/budget ${run.runId}`)).split("\n")).toEqual([
    expect.stringMatching(/^Run R: \d+ of \d+ tokens, \$0\.0000: Find/),
    expect.stringMatching(/^- boss#D: \d+ of \d+ tokens, \$0\.0000$/),
    expect.stringMatching(/^- helper#D: \d+ of \d+ tokens, \$0\.0000$/),
  ]);
  const sessions = await hear(engine, "/sessions", viewer);
  expect(sessions).toMatch(/^Sessions:\n- D boss, completed, TIME, \d+ tokens, \$0.0000: Find/);
});

test("an operator sends messages to an agent that works, and to none that has ended", async () => {
  const gate = Promise.withResolvers<void>();
  const { model, seen } = recording(play(gate.promise));
  await using engine = await openEngine({ model, profiles });
  const run = await engine.start({ task: "Find out", profile: "boss" });
  await until("it is at work", isWorking(engine, "helper"));
  const refused = await say(engine, `/tell ${run.runId} Stop.`, viewer);
  expect(refused).toMatchObject({ ok: false, code: "refused-by-policy" });
  expect(refused.reply).toBe("Sending a message to an agent requires operator access.");
  const told = await say(engine, `/tell boss#${run.delegationId} Look at b,\nand c.`);
  expect(told).toMatchObject({ ok: true, data: { delegationId: run.delegationId } });
  expect(withoutIds(told.reply)).toBe("Sent to D: it reads it before its next turn.");
  // A run's id means its root.
  expect(await hear(engine, `/tell ${run.runId} And d.`)).toBe(withoutIds(told.reply));
  gate.resolve();
  await run.result;
  const said = seen.at(-1)?.messages.flatMap((one) => (one.role === "user" ? one.text : []));
  expect(said?.slice(1)).toEqual([
    "Message from the person behind this run: Look at b,\nand c.",
    "Message from the person behind this run: And d.",
  ]);
  const late = await say(engine, `/tell ${run.delegationId} Wait.`);
  expect(late).toMatchObject({ ok: false, code: "already-terminal" });
  expect(late.reply).toContain("has ended: completed");
  const unknown = await say(engine, "/tell abcdef Hello");
  expect(unknown.reply).toBe("There is no run or delegation abcdef.");
  const notes = (await notesOf(engine)).slice(-3);
  expect(notes).toMatchObject([
    { command: `/tell ${run.runId} And d.`, actor: "otto", outcome: "done" },
    { outcome: "already-terminal" },
    { outcome: "unknown-run" },
  ]);
});

test("what was cancelled is resumed, and what is unknown is said to be", async () => {
  let hangs = true;
  await using engine = await openEngine({
    model: () => (hangs ? { fault: "hang" } : "Done."),
    profiles,
  });
  const run = await engine.start({ task: "Wait", profile: "boss" });
  // In a test of distributed runs the workers do.
  expect((await say(engine, `/resume ${run.runId}`)).reply).toMatch(
    new RegExp(
      `^(This process \\(${process.pid}\\) works|Workers work) on ${run.runId}\\. Watch it: mandate logs ${run.runId} --follow\\.`,
    ),
  );
  expect(await hear(engine, `/cancel ${run.runId}`)).toBe("Cancelled R.");
  expect(await hear(engine, `/cancel boss#${run.delegationId}`)).toBe(
    "D had ended already; nothing was changed.",
  );
  expect((await run.result).closeReason).toBe("cancelled");
  hangs = false;
  const resumed = await say(engine, `/resume ${run.runId}`);
  expect(withoutIds(resumed.reply)).toBe("Resumed R as D in run R.");
  await until(
    "the run ends",
    async () => (await engine.engine.resultOf(idsIn(resumed).runId)) !== null,
  );
  expect((await say(engine, `/resume ${idsIn(resumed).delegationId}`)).reply).toContain(
    "is completed; there is nothing to resume",
  );
  for (const text of ["/cancel abcdef", "/tree rabcdef", "/resume 123456", "/budget r000000"]) {
    expect((await say(engine, text)).reply).toMatch(/^There is no run or delegation /);
  }
});

test("what is resumed where nothing may be written may write nothing", async () => {
  const writer = testProfile("writer", {
    ...{ tools: ["write_file"], capabilities: ["primary"], workspace: { isolation: "shared" } },
  });
  await using engine = await openEngine({ model: () => ({ fault: "hang" }), profiles: [writer] });
  const { store, workspace } = engine;
  const run = await engine.start({ task: "Wait", profile: "writer", workspace });
  await hear(engine, `/cancel ${run.runId}`);
  const rootsIn = async (place: Parameters<typeof say>[3]) => {
    const resumed = idsIn(await say(engine, `/resume ${run.runId}`, operator, place));
    await engine.engine.cancel(resumed.runId, "enough");
    return (await store.readContract(resumed.delegationId)).permissions.write_roots;
  };
  expect(await rootsIn({})).toEqual([workspace]);
  expect(await rootsIn({ readOnly: true })).toEqual([]);
  const terminal = { session: "terminal" };
  await hear(engine, "/workspace readonly", operator, terminal);
  expect(await rootsIn(terminal)).toEqual([]);
});

test("what a crash interrupted is taken up where it stopped", async () => {
  await using first = await openEngine({ model: () => ({ fault: "hang" }), profiles });
  const { runId } = await first.start({ task: "Wait", profile: "boss" });
  await until("it is running", async () =>
    (await say(first, "/status")).reply.includes("running (model)"),
  );
  first.abandon();
  await using second = await first.another({ model: () => "Done.", profiles });
  await until("it is interrupted", async () =>
    (await say(second, "/status")).reply.includes("interrupted"),
  );
  expect(await hear(second, `/resume ${runId}`)).toBe("Run R continues where it stopped.");
  await until(
    "the run ends",
    async () => (await second.engine.resultOf(runId))?.result === "Done.",
  );
});

test("an agent is started by a word, works by itself, and its session says so", async () => {
  const gate = Promise.withResolvers<void>();
  await using engine = await openEngine({ model: play(gate.promise), profiles });
  for (const [text, who] of [
    ["/oracle Why is it slow?\nI tried everything.", "oracle"],
    ["/spawnagent helper Count.", "helper"],
    ["/pair Where is the clock read?", "pair"],
    ["/orchestrate Build a login page", "orchestrator"],
  ] as const) {
    const reply = await say(engine, text);
    expect(withoutIds(reply.reply)).toBe(`Started ${who}#D in run R.`);
    gate.resolve();
    const { delegationId, runId } = idsIn(reply);
    await until("the run ends", async () => (await engine.engine.resultOf(runId)) !== null);
    const { context } = await readSession(engine.store, delegationId);
    const [word = ""] = text.split(" ");
    expect(context?.trigger).toEqual({ by: "slash", word });
    expect(context?.workspace.root).toBe(engine.workspace);
    const { step } = await engine.store.readContract(delegationId);
    expect(step.description).toBe(
      text.slice(text.indexOf(who === "helper" ? "Count" : " ")).trim(),
    );
  }
  expect(await hear(engine, "/inbox")).toContain("Run succeeded: Why is it slow?");
});

test("an agent that is registered by a command has the skills and servers of its profile", async () => {
  const args = [stdioServerPath, "legacy"];
  const server = { kind: "stdio", command: process.execPath, args } as const;
  const scribe = testProfile("scribe", { skills: ["style"], mcpServers: ["docs"] });
  await using engine = await openEngine({
    model: () => "Done.",
    profiles: [scribe, testProfile("helper", { tools: ["load_skill"] })],
    trustWorkspace: true,
    config: { mcp: { servers: { docs: server, web: server } } },
  });
  for (const name of ["style", "tone"]) {
    const folder = join(engine.workspace, ".mandate/skills", name);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "SKILL.md"), `---\nname: ${name}\ndescription: d\n---\nBody`);
  }
  await hear(engine, "/agents register @scribe | scribe | Writes.");
  await hear(engine, "/agents register @help | helper | Helps.");
  const { plane } = engine.control;
  expect(await plane.entry("@scribe")).toMatchObject({
    defaultForwardSkills: ["style"],
    defaultMcpServers: ["docs"],
  });
  // A profile that names no skills has all of them, and servers as its tools say: none.
  const help = await plane.entry("@help");
  expect(help.defaultForwardSkills).toEqual(["style", "tone"]);
  expect(help.defaultMcpServers).toBeUndefined();
  const { delegationId, result } = await engine.start({ task: "Write.", profile: "@scribe" });
  await result;
  const { permissions } = await engine.store.readContract(delegationId);
  expect([permissions.skills, permissions.mcp_servers]).toEqual([["style"], ["docs"]]);
  // What a person took away stays away, until the agent leads to another profile.
  await hear(engine, "/agents set-skills @scribe | default:");
  await hear(engine, "/agents register @scribe | scribe | Writes well.");
  expect((await plane.entry("@scribe")).defaultForwardSkills).toEqual([]);
  await hear(engine, "/agents register @scribe | helper | Helps, too.");
  const { defaultForwardSkills, defaultMcpServers } = await plane.entry("@scribe");
  expect([defaultForwardSkills, defaultMcpServers]).toEqual([["style", "tone"], []]);
});

test("an agent is started by its handle, and nobody is for one that there is not", async () => {
  await using engine = await openEngine({ model: () => "Done.", profiles });
  await hear(engine, "/agents register @help | helper | Helps.");
  const reply = await say(engine, "/spawnagent @help Count.");
  expect(withoutIds(reply.reply)).toBe("Started @help as D in run R.");
  const { delegationId, runId } = idsIn(reply);
  expect((await engine.store.readContract(delegationId)).profile.agent).toBe("@help");
  await until("the run ends", async () => (await engine.engine.resultOf(runId)) !== null);
  expect((await say(engine, "/spawnagent @nobody Count.")).reply).toBe(
    "There is no agent '@nobody'. Known: @help.",
  );
  expect((await say(engine, "/spawnagent nobody Count.")).reply).toMatch(
    /^There is no profile 'nobody'\. Known: analyst, /,
  );
});

test("a question is shown, answered once, and by those who may", async () => {
  const model: Script = ({ caller, messages }) =>
    caller.turn === 1
      ? { calls: [{ tool: "ask_user", input: { message: "Which one?" } }] }
      : `They said: ${messages.at(-1)?.text}`;
  await using engine = await openEngine({
    model,
    profiles,
    limits: { askDefault: "none", askDeadlineMs: 60_000 },
  });
  expect(await hear(engine, "/inbox open", viewer)).toBe("Nothing waits for an answer.");
  expect(await hear(engine, "/inbox", viewer)).toBe("Nothing new in the inbox.");
  expect(await hear(engine, "/inbox all", viewer)).toBe("The inbox is empty.");
  const run = await engine.start({ task: "Choose", profile: "boss" });
  await until("the question", async () => (await hear(engine, "/inbox open")).startsWith("Inbox:"));
  const line = 'Inbox:\n- warn: boss asks: Which one? (/answer Q …; after TIME: "none") [D]';
  for (const by of [viewer, operator, viewer]) expect(await hear(engine, "/inbox", by)).toBe(line);
  const [, id = ""] = /\/answer (q[0-9a-f]+)/.exec((await say(engine, "/inbox")).reply) ?? [];
  const refused = await say(engine, `/answer ${id} mine`, viewer);
  expect(refused).toEqual({
    ok: false,
    code: "refused-by-policy",
    reply: "Answering an agent requires operator access.",
  });
  expect(await hear(engine, `/answer ${id} the second\nof both`)).toBe("Answered Q.");
  expect((await say(engine, `/answer ${id} the first`)).reply).toMatch(/was answered already/);
  expect((await say(engine, "/answer q000001 x")).reply).toMatch(/^There is no question q000001/);
  expect((await run.result).result).toContain("the second\nof both");
  expect(await hear(engine, "/inbox", viewer)).toContain("boss was answered");
  expect(await hear(engine, "/inbox", viewer)).toBe("Nothing new in the inbox.");
  expect(await hear(engine, "/inbox all", viewer)).toContain("boss asks: Which one?");
});

test("an approval is shown with the two answers that it takes, and each of them works", async () => {
  const calls = [{ tool: "write_file", input: { path: "a", content: "x" } }];
  const toolRules = [{ tool: "write_file", action: "ask" as const }];
  await using engine = await openEngine({
    model: ({ caller }) => (caller.turn === 1 ? { calls } : "done"),
    profiles: [testProfile("clerk", { tools: ["write_file"], toolRules })],
    limits: { askDeadlineMs: 60_000 },
  });
  const { workspace } = engine;
  for (const word of ["yes", "no"]) {
    const run = await engine.start({ task: "Write", profile: "clerk", workspace });
    await until("the question", async () =>
      (await hear(engine, "/inbox open")).startsWith("Inbox:"),
    );
    expect(await hear(engine, "/inbox open")).toMatch(
      /^Inbox:\n- warn: clerk asks for approval: .* \(\/answer Q yes or \/answer Q no; after TIME: it is refused\) \[D\]$/,
    );
    const { reply } = await say(engine, "/inbox open");
    const [command = ""] = new RegExp(`/answer q[0-9a-f]+ ${word}`).exec(reply) ?? [];
    expect(await hear(engine, command)).toBe("Answered Q.");
    await run.result;
    const types = (await engine.events(run.runId)).map(({ type }) => type);
    expect(types.includes("agent.tool_completed")).toBe(word === "yes");
  }
});

test("whoever may not spend or steer starts and changes nothing, and the log says who tried", async () => {
  const gate = Promise.withResolvers<void>();
  await using engine = await openEngine({ model: play(gate.promise), profiles });
  const run = await engine.start({ task: "Find out", profile: "boss" });
  await until("it is at work", isWorking(engine, "helper"));
  const stranger = { id: "eve", role: "root" } as never;
  for (const [text, what] of [
    ["/oracle why", "Starting an agent"],
    ["/review", "Starting an agent"],
    ["/pair", "Starting an agent"],
    ["/pair on", "Starting an agent"],
    ["/pair look", "Starting an agent"],
    ["/orchestrate it", "Starting an agent"],
    ["/spawnagent helper it", "Starting an agent"],
    [`/cancel ${run.runId}`, "Cancelling and resuming agents"],
    [`/resume ${run.runId}`, "Cancelling and resuming agents"],
    ["/workspace readonly", "Setting the workspace of a session"],
  ] as const) {
    for (const by of [viewer, stranger]) {
      const reply = await say(engine, text, by, { session: "s1" });
      expect(reply).toMatchObject({ ok: false, reply: `${what} requires operator access.` });
    }
  }
  expect(await engine.store.listRuns({})).toHaveLength(1);
  expect((await notesOf(engine)).slice(-2)).toEqual([
    { actor: "vera", command: "/workspace readonly", outcome: "refused" },
    { actor: "eve", command: "/workspace readonly", outcome: "refused" },
  ]);
  gate.resolve();
  expect((await run.result).status).toBe("completed");
});
