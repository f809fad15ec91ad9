import { afterEach, describe, expect, it } from "vitest";
import { runNumberOf } from "../ports/identity.ts";
import { SqliteStore } from "../stores/sqlite/sqlite-store.ts";
import { alterDatabase } from "../testing/alter-database.test-support.ts";
import { openEngine, testProfile } from "../testing/engine-fixture.ts";
import { about, StoredRun } from "../testing/stored-run.ts";
import { listSessions } from "./list-sessions.ts";
import { renameSession } from "./session-records.ts";

const profiles = [testProfile("talker", { tools: [], capabilities: ["primary"] })];
const operator = { id: "ada", role: "operator" } as const;

describe("the list of sessions", () => {
  it("has title, agent, last words, status, time and what all runs came to", async () => {
    const model = () => ({
      text: `said \u001b[2J${"x".repeat(300)}`,
      usage: { prompt: 100, completion: 10 },
    });
    await using mandate = await openEngine({ profiles, model });
    const { store, workspace } = mandate;
    const first = await mandate.run({ task: "one\nmore", profile: "talker", workspace });
    const second = await mandate.engine.continueSession(first.runId, "two");
    await second.result;
    const other = await mandate.run({ task: "elsewhere", profile: "talker" });
    const sessions = await listSessions(store, { readUntil: 0 });
    expect(sessions).toMatchObject([
      { id: other.delegationId, title: "elsewhere", workspace: null, tokens: 110, runs: 1 },
      {
        ...{ id: second.delegationId, runId: second.runId, title: "one", profile: "talker" },
        ...{ status: "completed", workspace, tokens: 220, cost: 0, runs: 2, unread: true },
      },
    ]);
    const last = sessions[1]?.lastMessage ?? "";
    expect(last).toMatch(/^said ␛\[2Jx+…$/);
    expect(last.length).toBe(120);
    expect(await listSessions(store, { workspace })).toHaveLength(1);
    const [seen] = await listSessions(store, { readUntil: Date.now() + 1000 });
    expect(seen?.unread).toBe(false);
    expect((await listSessions(store))[0]).not.toHaveProperty("unread");
  });

  it("comes in pages that neither repeat nor leave out a session", async () => {
    await using mandate = await openEngine({ profiles, model: () => "ok" });
    const ends: string[] = [];
    for (const task of ["a", "b", "c", "d", "e"]) {
      const begun = await mandate.run({ task, profile: "talker" });
      const next = await mandate.engine.continueSession(begun.runId, "more");
      await next.result;
      ends.unshift(next.delegationId);
    }
    const pages: string[] = [];
    for (let before: string | undefined; ; ) {
      const page = await listSessions(mandate.store, { limit: 2, before });
      pages.push(...page.map(({ id }) => id));
      before = page.at(-1)?.id;
      if (before === undefined) break;
    }
    expect(pages).toEqual(ends);
  });

  it("tells what runs from what nobody works on any more", async () => {
    await using mandate = await openEngine({ profiles, model: () => "ok" });
    const hangs = () => ({ fault: "hang" as const });
    const alive = await mandate.another({ profiles, model: hangs });
    const dead = await mandate.another({ profiles, model: hangs });
    const running = await alive.start({ task: "go on", profile: "talker" });
    await dead.start({ task: "cut", profile: "talker" });
    dead.abandon();
    const sessions = await listSessions(mandate.store);
    expect(sessions.map(({ status, title }) => [title, status])).toEqual([
      ["cut", "interrupted"],
      ["go on", expect.stringMatching(/^(created|running)$/)],
    ]);
    expect(sessions[1]?.lastMessage).toBe("go on");
    await alive.engine.cancel(running.runId, "enough");
    await running.result;
    for (const run of await mandate.engine.recover()) await run.result;
  });

  it("shows a run whose log is damaged as that, and all others as ever", async () => {
    await using mandate = await openEngine({
      ...{ profiles, model: () => "ok", breaks: ["I1", "I2", "I7", "I15"] as const },
    });
    const good = await mandate.run({ task: "good", profile: "talker" });
    const bad = await mandate.run({ task: "bad", profile: "talker" });
    await alterDatabase(
      mandate,
      `UPDATE event_batches SET events = '[["run.sta' WHERE run = ${runNumberOf(bad.runId)}`,
    );
    const sessions = await listSessions(mandate.store);
    expect(sessions).toMatchObject([
      { runId: bad.runId, title: "bad", status: "unreadable" },
      { id: good.delegationId, title: "good", status: "completed" },
    ]);
    expect(sessions[0]?.lastMessage).toMatch(/^The log cannot be read: /);
  });
});

describe("the title of a session", () => {
  it("is the first message until somebody gives one, which then stays on its way", async () => {
    await using mandate = await openEngine({ profiles, model: () => "ok" });
    const { store } = mandate;
    const first = await mandate.run({ task: "first words", profile: "talker" });
    await renameSession(store, first.runId, " The login page ", operator);
    const left = await mandate.engine.continueSession(first.runId, "left");
    const right = await mandate.engine.continueSession(first.runId, "right");
    await Promise.all([left.result, right.result]);
    await renameSession(store, right.delegationId, "Another way", operator);
    const titles = async () => (await listSessions(store)).map(({ title }) => title);
    expect(await titles()).toEqual(["Another way", "The login page"]);
    await renameSession(store, right.delegationId, "", operator);
    await renameSession(store, first.delegationId, "", operator);
    await renameSession(store, first.delegationId, "", operator);
    expect(await titles()).toEqual(["first words", "first words"]);
    const changes: string[] = [];
    for await (const event of store.readEvents({})) {
      if (event.type === "control.record_changed") {
        changes.push(`${event.payload.actor} ${event.payload.record}`);
      }
    }
    expect(changes[0]).toBe(`ada session/title:${first.delegationId}`);
    expect(changes).toHaveLength(4);
  });

  it("is refused when it cannot be seen, is too long, or comes from who may not", async () => {
    await using mandate = await openEngine({ profiles, model: () => "ok" });
    const { runId } = await mandate.run({ task: "go", profile: "talker" });
    const rename = (title: string, id = runId) => renameSession(mandate.store, id, title, operator);
    for (const title of ["a\u001b[2Jb", "a\nb", "a\u202eb", "x".repeat(121)]) {
      await expect(rename(title)).rejects.toMatchObject({ code: "usage" });
    }
    await expect(rename("x", "ffffff")).rejects.toMatchObject({ code: "unknown-delegation" });
    const viewer = { id: "eve", role: "viewer" } as const;
    await expect(renameSession(mandate.store, runId, "x", viewer)).rejects.toMatchObject({
      code: "refused-by-policy",
    });
    expect(await mandate.store.listRecords("session")).toEqual([]);
  });
});

describe("ten thousand runs", () => {
  let store: SqliteStore | undefined;
  afterEach(() => store?.close());

  it("are listed by reading the few that are shown", { timeout: 120_000 }, async () => {
    store = new SqliteStore({ path: ":memory:", synchronous: "normal", artifacts: null });
    const made: Promise<unknown>[] = [];
    for (let index = 0; index < 10_000; index++) made.push(storeRun(store, `/work/${index % 10}`));
    await Promise.all(made);
    let read = 0;
    const counting = new Proxy(store, {
      get(target, key) {
        const value: unknown = Reflect.get(target, key, target);
        if (key === "readRun" || key === "readEvents") read++;
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    expect(await listSessions(counting, { limit: 20 })).toHaveLength(20);
    expect(read).toBeLessThan(60);
    read = 0;
    expect(await listSessions(counting, { limit: 20, workspace: "/work/3" })).toHaveLength(20);
    expect(read).toBeLessThan(60);
  });
});

async function storeRun(store: SqliteStore, workspace: string): Promise<void> {
  const run = await StoredRun.start(store, "suite", workspace);
  const id = await run.child();
  const seal = {
    ...{ summary: "", output_hash: null, usage: { prompt: 1, completion: 1, cost: 0 }, turns: 0 },
    ...{ tool_calls: 0, attempts: 1, served: [] },
  };
  await run.append(
    about(id, "agent.subagent_failed", {
      code: "timeout",
      cause: { code: "idle", ms: 5 },
      error: "too slow",
    }),
    about(id, "agent.subagent_closed", {
      ...{ sub_agent_id: id, step_idx: 0, final_status: "failed", close_reason: "timeout", seal },
    }),
    {
      type: "run.finished",
      payload: { outcome: "failed", cause: { code: "idle", ms: 5 }, reason: "test" },
    },
  );
}
