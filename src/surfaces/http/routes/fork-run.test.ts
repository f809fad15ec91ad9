import { mkdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { Forks } from "../../../application/replay.ts";
import { setSessionWorkspace } from "../../../sessions/session-records.ts";
import { ofType, testProfile } from "../../../testing/engine-fixture.ts";
import { openApi, refusal, type TestApi } from "./api.test-support.ts";

const profiles = [
  testProfile("lead", { tools: ["delegate_task", "write_file"] }),
  testProfile("worker", { tools: [] }),
];

/** A lead that delegates in its first turn and ends in its second. */
async function openForking(): Promise<{ api: TestApi; asked: string[] }> {
  const forks = new Forks();
  const asked: string[] = [];
  const api = await openApi({
    profiles,
    middleware: [forks.middleware],
    model({ caller, messages }) {
      asked.push(caller.profile);
      if (caller.profile === "worker" || messages.at(-1)?.role !== "user") {
        return { text: `done by ${caller.profile}: ${caller.task}` };
      }
      const input = { profile: "worker", task: "look" };
      return { calls: [{ tool: "delegate_task", input }] };
    },
  });
  return { api: { ...api, host: Object.assign(api.host, { forks }) }, asked };
}

describe("forking over HTTP", () => {
  it("starts a run of whoever asks on the turns before an event", async () => {
    const { api, asked } = await openForking();
    await using _api = api;
    const { runId } = await api.client.startRun({ task: "go", profile: "lead", wait: 20_000 });
    const events = await api.engine.events(runId);
    const [done] = ofType(events, "agent.tool_completed");
    const operator = await api.as("operator", "ann", { allRuns: true });
    const before = asked.length;
    const forked = await operator.forkRun({ runId, at: done?.run_seq ?? 0, task: "Again" });
    expect(forked).toMatchObject({ turns: 1, sharedUpTo: done?.run_seq });
    const { result, state } = await operator.getRun({ runId: forked.runId, wait: 20_000 });
    expect([state, result?.result]).toEqual(["succeeded", expect.stringContaining("done by")]);
    expect(asked.slice(before)[0]).toBe("lead");
    const contract = await api.engine.store.readContract(forked.delegationId);
    expect(JSON.stringify(contract)).toContain('"ann"');
  });

  it("refuses an event that there is not, a run that is not here, and whoever only looks", async () => {
    const { api } = await openForking();
    await using _api = api;
    const { runId } = await api.client.startRun({ task: "go", profile: "lead", wait: 20_000 });
    const viewer = await api.as("viewer");
    expect(await refusal(viewer.forkRun({ runId, at: 5 }))).toBe("403 forbidden");
    expect(await refusal(api.client.forkRun({ runId, at: 5000 }))).toBe("400 usage");
    expect(await refusal(api.client.forkRun({ runId, at: 0 }))).toBe("400 request-invalid");
    expect(await refusal(api.client.forkRun({ runId: "r000000", at: 5 }))).toBe("404 unknown-run");
    const folder = api.engine.home.replace(/home$/, "elsewhere");
    mkdirSync(folder);
    const elsewhere = await api.engine.run({
      task: "go",
      profile: "lead",
      workspace: folder,
    });
    expect(await refusal(api.client.forkRun({ runId: elsewhere.runId, at: 5 }))).toBe(
      "403 refused-by-policy",
    );
  });

  it("takes neither the pins of somebody else's session, nor lets its fork write where that might not", async () => {
    const { api } = await openForking();
    await using _api = api;
    const ann = await api.as("operator", "ann");
    const by = { id: "ann", role: "operator" } as const;
    await setSessionWorkspace(api.engine.store, "ann/talk", "readonly", by);
    const { runId } = await ann.startRun({
      task: "go",
      profile: "lead",
      session: "talk",
      wait: 20_000,
    });
    const at = (await api.engine.events(runId)).at(-1)?.run_seq ?? 0;
    for (const [who, session] of [
      ["bob", undefined],
      ["ann", "ann/talk"],
    ] as const) {
      const client = who === "ann" ? ann : await api.as("operator", who, { allRuns: true });
      const forked = await client.forkRun({ runId, at });
      await client.getRun({ runId: forked.runId, wait: 20_000 });
      const [started] = ofType(await api.engine.events(forked.runId), "run.started");
      expect([who, started?.payload.session?.id]).toEqual([who, session]);
      const { workspace } = await api.engine.store.readContract(forked.delegationId);
      expect([who, workspace.allow_writes]).toEqual([who, false]);
    }
    // The mode of her session is hers to change; what bob may write does not hang on it.
    await setSessionWorkspace(api.engine.store, "ann/talk", "writable", by);
    const { delegationId, runId: again } = await ann.forkRun({ runId, at });
    await ann.getRun({ runId: again, wait: 20_000 });
    const { workspace } = await api.engine.store.readContract(delegationId);
    expect(workspace.allow_writes).toBe(true);
  });
});
