import { describe, expect, it } from "vitest";
import { type EngineOptions, testProfile } from "../../../testing/engine-fixture.ts";
import { until } from "../../../testing/until.ts";
import { openApi, refusal } from "./api.test-support.ts";

const options: EngineOptions = {
  profiles: [testProfile("writer", { tools: [] }), testProfile("reader", { tools: [] })],
  model: ({ caller }) => ({
    text: caller.task,
    usage: { prompt: caller.profile === "writer" ? 100 : 10, completion: 5 },
  }),
};

describe("the server about itself", () => {
  it("says whether it can work, and what the machine can enforce", async () => {
    await using api = await openApi(options);
    const viewer = await api.as("viewer");
    const health = await viewer.getHealth();
    expect(health).toMatchObject({ ok: true, database: { ok: true }, openRuns: 0, liveRuns: 0 });
    expect(health.worker).toBe(api.engine.store.ownership.worker);
    const self = { worker: health.worker, isSelf: true, isAlive: true, openRuns: 0 };
    expect(health.workers).toEqual([self]);
    expect(health.uptimeMs).toBeGreaterThanOrEqual(0);
    const system = await viewer.getSystem();
    expect(Object.keys(system.programs)).toEqual(["git", "ripgrep", "bubblewrap"]);
    expect(system.enforcement.files).toMatch(/^always/);
  });

  it("lists itself where a store knows of nobody, and no queues where there are none", async () => {
    await using api = await openApi(options);
    const viewer = await api.as("viewer");
    const { engine, isComplete, items } = await viewer.listWorkers();
    expect([engine, isComplete]).toEqual(["local", true]);
    expect(items).toMatchObject([
      {
        ...{ worker: api.engine.store.ownership.worker, pid: process.pid, openRuns: 0 },
        ...{ isSelf: true, isAlive: true, takesWork: false, delegations: null, goneSince: null },
      },
    ]);
    expect(await viewer.listQueues()).toEqual({ items: [], isComplete: true });
  });

  it("says who asks, and where it works", async () => {
    await using api = await openApi(options);
    const workspaces = [api.engine.workspace];
    expect(await api.client.getMe()).toEqual({
      ...{ id: "local", role: "admin", allRuns: true, workspaces },
    });
    expect(await (await api.as("viewer", "ann")).getMe()).toMatchObject({
      id: "ann",
      role: "viewer",
    });
  });

  it("sums up what was spent, by everything that can be asked for", async () => {
    await using api = await openApi(options);
    const ids: string[] = [];
    for (const profile of ["writer", "writer", "reader"]) {
      ids.push((await api.client.startRun({ task: "x", profile, wait: 20_000 })).runId);
    }
    const of = async (by: "run" | "profile" | "model" | "day") => api.client.getCosts({ by });
    const byProfile = await of("profile");
    const tokens = byProfile.items.map(({ completion, key, prompt }) => [key, prompt, completion]);
    expect(tokens).toEqual([
      ["writer", 200, 10],
      ["reader", 10, 5],
    ]);
    expect(byProfile).toMatchObject({ runs: 3, isComplete: true, total: { prompt: 210 } });
    expect(new Set((await of("run")).items.map(({ key }) => key))).toEqual(new Set(ids));
    expect((await of("model")).items).toHaveLength(1);
    const today = new Date().toISOString().slice(0, 10);
    expect((await api.client.getCosts()).items.map(({ key }) => key)).toEqual([today]);
    const people = await api.client.getCosts({ by: "person", daily: true });
    expect(people.items.map(({ key }) => key)).toEqual(["local"]);
    expect(people.days).toMatchObject([{ key: "local", day: today, prompt: 210, completion: 15 }]);
    const folders = await api.client.getCosts({ by: "workspace", daily: true, limit: 1 });
    expect(folders.days.map(({ key }) => key)).toEqual([api.engine.workspace]);
    const none = await api.client.getCosts({ by: "run", since: Date.now() + 60_000 });
    expect(none).toMatchObject({ items: [], runs: 0 });
    const wrong = api.client.getCosts({ by: "moon" as "day" });
    expect(await refusal(wrong)).toBe("400 request-invalid");
  });

  it("shows in one reply what runs, waits, failed and was spent, of the caller's runs only", async () => {
    await using api = await openApi({
      profiles: [
        testProfile("writer", { tools: [] }),
        testProfile("asker", { tools: ["ask_user"] }),
      ],
      model({ caller, messages }) {
        if (caller.task === "break") return { fault: "rejected" };
        const ask = { tool: "ask_user", input: { message: "Which one?" } };
        const isNew = messages.at(-1)?.role === "user";
        return caller.profile === "asker" && isNew ? { calls: [ask] } : "done";
      },
    });
    const ann = await api.as("operator", "ann");
    const { runId } = await ann.startRun({ task: "ask me", profile: "asker" });
    await api.client.startRun({ task: "write", profile: "writer", wait: 20_000 });
    await api.client.startRun({ task: "break", profile: "writer", wait: 20_000 });
    await until("it asks", async () => (await ann.listInbox({ openOnly: true })).items[0]);
    const all = await api.client.getOverview();
    expect(all.open).toMatchObject({
      items: [{ runId, profile: "asker", startedBy: "ann", state: "running" }],
      total: 1,
    });
    expect(all.waiting).toMatchObject({ items: [{ runId, ask: { default: null } }], total: 1 });
    expect(all.failed.map(({ title }) => title)).toEqual(["break"]);
    expect(all.recent.map(({ title }) => title)).toEqual(["break", "write"]);
    const [today] = all.spent.days;
    expect([today?.day, all.spent.isComplete]).toEqual([
      new Date(all.at).toISOString().slice(0, 10),
      true,
    ]);
    const own = await ann.getOverview();
    expect([own.open.total, own.waiting.total, own.failed, own.recent]).toEqual([1, 1, [], []]);
    expect(own.spent.days[0]?.tokens).toBeLessThan(today?.tokens ?? 0);
    const { items } = await api.client.listRuns({ startedBy: "ann", profile: "asker" });
    expect(items.map(({ runId: id }) => id)).toEqual([runId]);
    const [first] = (await api.client.listRuns({ profile: "writer" })).items;
    const { startedBy, model, workspace } = first ?? {};
    expect([startedBy, workspace]).toEqual(["local", api.engine.workspace]);
    const filters = { model: model ?? "", workspace: workspace ?? "" };
    expect((await api.client.listRuns(filters)).items).toHaveLength(3);
    expect((await api.client.listRuns({ ...filters, startedBy: "nobody" })).items).toEqual([]);
    expect((await ann.listRuns({ startedBy: "local" })).items).toEqual([]);
    await api.client.cancelRun({ runId });
    expect((await api.client.getOverview()).failed).toHaveLength(1);
  });
});
