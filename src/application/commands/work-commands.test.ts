import { execFileSync } from "node:child_process";
import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Script } from "../../models/scripted/scripted-model.ts";
import { isDistributed, notOffered } from "../../testing/alter-database.test-support.ts";
import { ofType, openEngine, recording, testProfile } from "../../testing/engine-fixture.ts";
import { until } from "../../testing/until.ts";
import { hear, idsIn, say, withoutIds } from "./say.test-support.ts";

const boss = testProfile("boss", { capabilities: ["primary"], tools: ["list_files"] });
const limits = { watchIntervalMs: 1 };

/** Makes a call and thinks until the gate opens; whoever watches says nothing. */
function playUntil(gate: { isOpen: boolean }): Script {
  return async ({ caller }) => {
    await new Promise((resolve) => setTimeout(resolve, 10));
    if (caller.profile !== "boss") return "ok";
    if (caller.turn === 1) return { calls: [{ tool: "list_files", input: {} }] };
    await until("the gate opens", () => gate.isOpen);
    return "Done.";
  };
}

const git = (folder: string, ...words: readonly string[]) =>
  execFileSync("git", ["-C", folder, "-c", "user.name=a", "-c", "user.email=a@b", ...words]);

test("a pair programmer watches what runs, once, and no longer when it is told so", async ({
  skip,
}) => {
  skip(isDistributed, notOffered.watching);
  const gate = { isOpen: false };
  const { seen, model } = recording(playUntil(gate));
  await using engine = await openEngine({ model, profiles: [boss], limits });
  expect((await say(engine, "/pair")).reply).toBe(
    "No run is in progress here that could be watched.",
  );
  const { workspace } = engine;
  const run = await engine.start({ task: "Work", profile: "boss", workspace });
  expect(await hear(engine, "/pair off")).toBe("No pair watches R.");
  expect(await hear(engine, "/pair on")).toBe("pair#D watches R.");
  expect(await hear(engine, `/pair on ${run.delegationId}`)).toBe("pair#D watches D already.");
  expect(await hear(engine, "/status")).toMatch(/- pair#D watching/);
  const isWatching = () => seen.some(({ caller }) => caller.profile === "pair");
  await until("the watcher is asked", isWatching);
  expect(await hear(engine, "/pair")).toBe("pair#D no longer watches R.");
  expect(await hear(engine, "/status")).not.toContain("pair");
  const shown = seen.filter(({ caller }) => caller.profile === "pair").length;
  expect(await hear(engine, "/pair")).toBe("pair#D watches R.");
  expect(await hear(engine, `/pair off boss#${run.delegationId}`)).toBe(
    "pair#D no longer watches D.",
  );
  gate.isOpen = true;
  expect((await run.result).status).toBe("completed");
  expect(shown).toBeGreaterThan(0);
  const events = await engine.events(run.runId);
  const closed = ofType(events, "agent.subagent_closed").map(({ payload }) => payload.final_status);
  expect(closed).toHaveLength(3);
  expect(closed[0]).toBe("completed");
  expect((await say(engine, `/pair on ${run.runId}`)).reply).toBe(
    `No process executes run ${run.runId}: there is nothing to watch.`,
  );
  await expect(engine.engine.watchers.end(run.runId, "pair")).rejects.toThrow(
    /Nothing that works here/,
  );
});

test("a watcher that is ended in the middle of a request asks for nothing more", async ({
  skip,
}) => {
  skip(isDistributed, notOffered.watching);
  const gate = { isOpen: false };
  const script = playUntil(gate);
  let aborted = 0;
  const model: Script = (request) => {
    if (request.caller.profile !== "pair") return script(request);
    request.signal.addEventListener("abort", () => aborted++);
    return { fault: "hang" };
  };
  await using engine = await openEngine({ model, profiles: [boss], limits });
  const { workspace } = engine;
  const run = await engine.start({ task: "Work", profile: "boss", workspace });
  const watcher = await engine.engine.watchers.start(run.runId, "pair");
  const state = async () =>
    (await engine.store.readRun(run.runId))?.delegations.get(watcher)?.status ?? "";
  const isAsking = async () => (await say(engine, "/status")).reply.includes("watching (model)");
  await until("the watcher asks its model", isAsking);
  expect(await engine.engine.watchers.end(run.runId, "pair")).toEqual([watcher]);
  expect(await engine.engine.watchers.end(run.runId, "pair")).toEqual([]);
  expect(await state()).toBe("closed");
  await until("the request is aborted", () => aborted > 0);
  expect((await engine.engine.resultOf(watcher))?.status).toBe("completed");
  gate.isOpen = true;
  expect((await run.result).status).toBe("completed");
});

test("watchers come and go at any moment of a run, each with an end in the log", async ({
  skip,
}) => {
  skip(isDistributed, notOffered.watching);
  const gate = { isOpen: false };
  await using engine = await openEngine({ model: playUntil(gate), profiles: [boss], limits });
  const { workspace } = engine;
  const run = await engine.start({ task: "Work", profile: "boss", workspace });
  for (let round = 0; round < 20; round++) {
    const watcher = await engine.engine.watchers.start(run.runId, "pair");
    await new Promise((resolve) => setTimeout(resolve, (round * 7) % 30));
    const ends = [1, 2].map(() => engine.engine.watchers.end(run.runId, "pair"));
    if (round % 5 === 0) ends.push(engine.engine.cancel(watcher, "enough").then(() => []));
    await Promise.all(ends);
    expect((await engine.engine.resultOf(watcher))?.delegationId).toBe(watcher);
  }
  gate.isOpen = true;
  expect((await run.result).status).toBe("completed");
});

test("of several runs, somebody has to say which one is watched", async ({ skip }) => {
  skip(isDistributed, notOffered.watching);
  const gate = { isOpen: false };
  await using engine = await openEngine({ model: playUntil(gate), profiles: [boss], limits });
  const { workspace } = engine;
  const runs = [
    await engine.start({ task: "One", profile: "boss", workspace }),
    await engine.start({ task: "Two", profile: "boss", workspace }),
  ];
  expect(withoutIds((await say(engine, "/pair on")).reply)).toBe(
    "Several runs are in progress here: R, R. Name one: on R",
  );
  const place = { run: runs[1]?.runId };
  expect((await say(engine, "/pair on", undefined, place)).reply).toContain(runs[1]?.runId);
  gate.isOpen = true;
  await Promise.all(runs.map(({ result }) => result));
});

test("a review is given what is not committed, or a range, and nothing where there is nothing", async () => {
  const { seen, model } = recording(({ caller }) =>
    caller.turn === 1 ? { calls: [{ tool: "list_files", input: {} }] } : "VERDICT: approve",
  );
  await using engine = await openEngine({ model });
  const { workspace } = engine;
  const file = join(workspace, "a.txt");
  expect((await say(engine, "/review")).ok).toBe(false);
  git(workspace, "init", "-q", "-b", "main");
  writeFileSync(file, "one\n");
  git(workspace, "add", ".");
  git(workspace, "commit", "-qm", "one");
  expect(await hear(engine, "/review")).toBe("There is nothing to review: no change was found.");
  expect(await engine.store.listRuns({})).toEqual([]);
  appendFileSync(file, "two\n");
  const reply = await say(engine, "/review");
  expect(withoutIds(reply.reply)).toBe("Started reviewer#D in run R.");
  const { delegationId, runId } = idsIn(reply);
  const { step, workspace: bound } = await engine.store.readContract(delegationId);
  expect(step.context).toContain("+two");
  expect(bound.allow_writes).toBe(false);
  git(workspace, "commit", "-qam", "two");
  expect(await hear(engine, "/review main~1..main")).toBe("Started reviewer#D in run R.");
  expect((await say(engine, "/review nowhere..main")).reply).toContain("nowhere");
  expect((await say(engine, "/review", undefined, { workspace: undefined })).reply).toBe(
    "There is no workspace here, so there are no changes to show.",
  );
  const isOver = async () => (await engine.store.listRuns({ open: true })).length === 0;
  await until("all runs end", isOver);
  expect((await engine.engine.resultOf(runId))?.result).toBe("VERDICT: approve");
  expect(seen[0]?.messages[0]?.text).toContain("+two");
  expect(await hear(engine, "/inbox")).toContain("Run succeeded: Review this change.");
});

test("a session's workspace is read-only when somebody says so, for all of its next runs", async () => {
  const writer = testProfile("writer", { capabilities: ["primary"], tools: ["write_file"] });
  const model: Script = ({ caller }) =>
    caller.turn === 1
      ? { calls: [{ tool: "write_file", input: { path: "a.txt", content: "x" } }] }
      : "Done.";
  await using engine = await openEngine({ model, profiles: [writer] });
  const place = { session: "s1" };
  const writes = async (session: string) => {
    const reply = await say(engine, "/spawnagent writer Write.", undefined, { session });
    const { delegationId } = idsIn(reply);
    const { permissions } = await engine.store.readContract(delegationId);
    return permissions.write_roots.length > 0;
  };
  const writable =
    "The workspace is writable for the next runs of this session, where profiles allow it.";
  const readonly = "The workspace is read-only for the next runs of this session.";
  expect(await hear(engine, "/workspace", undefined, place)).toBe(writable);
  expect(await writes("s1")).toBe(true);
  expect(await hear(engine, "/workspace readonly", undefined, place)).toBe(readonly);
  expect(await hear(engine, "/workspace", undefined, place)).toBe(readonly);
  expect(await hear(engine, "/workspace readonly", undefined, place)).toBe(readonly);
  expect([await writes("s1"), await writes("s2")]).toEqual([false, true]);
  const { delegationId } = await engine.start({
    task: "Write.",
    profile: "writer",
    workspace: engine.workspace,
    session: "s1",
    readOnly: false,
  });
  const { permissions } = await engine.store.readContract(delegationId);
  expect(permissions.write_roots).toEqual([]);
  expect(await hear(engine, "/workspace writable", undefined, place)).toBe(writable);
  expect(await writes("s1")).toBe(true);
  expect((await say(engine, "/workspace readonly")).reply).toBe(
    "There is no session here to set the workspace of.",
  );
  const bound = { session: "s1", readOnly: true };
  expect((await say(engine, "/workspace writable", undefined, bound)).reply).toBe(
    "This session was opened read-only, and no command changes that.",
  );
  expect(await hear(engine, "/workspace", undefined, bound)).toBe(readonly);
  const isOver = async () => (await engine.store.listRuns({ open: true })).length === 0;
  await until("all runs end", isOver);
});
