import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type EngineOptions, testProfile } from "../../../testing/engine-fixture.ts";
import { testFolder } from "../../../testing/test-folder.test-support.ts";
import { until } from "../../../testing/until.ts";
import { openApi, refusal } from "./api.test-support.ts";

const profiles = [
  testProfile("lead", { tools: ["delegate_task", "ask_user"] }),
  testProfile("worker", { tools: [] }),
  testProfile("asker", { tools: ["ask_user"] }),
];

/** A lead that delegates once; whoever is told to hang does. */
const options: EngineOptions = {
  profiles,
  model({ caller, messages }) {
    const last = messages.at(-1);
    if (caller.task.includes("hang")) return { fault: "hang" };
    if (caller.profile === "asker" && last?.role === "user") {
      return { calls: [{ tool: "ask_user", input: { message: "Which one?" } }] };
    }
    if (caller.profile === "lead" && last?.role === "user" && !caller.task.includes("alone")) {
      return { calls: [{ tool: "delegate_task", input: { profile: "worker", task: "dig" } }] };
    }
    return { text: `${caller.profile} did: ${caller.task}` };
  },
};

describe("runs over HTTP", () => {
  it("start, wait for their result, and are shown as a tree with caps and models", async () => {
    await using api = await openApi(options);
    const started = await api.client.startRun({ task: "lead it", profile: "lead", wait: 20_000 });
    expect(started.url).toBe(`http://127.0.0.1:4747/api/v1/runs/${started.runId}`);
    expect(started.result).toMatchObject({ status: "completed", result: "lead did: lead it" });
    const run = await api.client.getRun({ runId: started.runId });
    expect(run).toMatchObject({
      state: "succeeded",
      task: "lead it",
      workspace: api.engine.workspace,
      delegations: 2,
      rootId: started.delegationId,
      result: { status: "completed" },
    });
    expect(run.tree.map(({ depth, parentId, profile }) => [profile, depth, parentId])).toEqual([
      ["lead", 0, null],
      ["worker", 1, started.delegationId],
    ]);
    for (const node of run.tree) {
      expect(node).toMatchObject({ status: "closed", outcome: "completed", waitingOn: null });
      expect(node.cap?.tokens).toBeGreaterThan(0);
      expect(node.model.requested).toBe(node.model.served[0]);
      expect(node.elapsedMs).toBeGreaterThanOrEqual(0);
    }
    expect(run.tokens).toBe(run.tree.reduce((sum, { tokens }) => sum + tokens, 0));
    expect(await api.client.verifyRun({ runId: run.runId })).toMatchObject({ ok: true });
    expect(await api.client.replayRun({ runId: run.runId })).toMatchObject({ isSame: true });
    const again = await api.client.startRun({ task: "other", profile: "lead", wait: 20_000 });
    const compared = await api.client.compareRuns({ runId: run.runId, with: again.runId });
    expect(compared.isSame).toBe(false);
  });

  it("have their answer while children in the background still run", async () => {
    const child = Promise.withResolvers<void>();
    const tools = ["spawn", "spawn_await"];
    await using api = await openApi({
      profiles: [
        testProfile("lead", { tools, mayDelegate: { tools: ["read_file", ...tools] } }),
        testProfile("worker", { tools: ["read_file"] }),
      ],
      async model({ caller }) {
        if (caller.depth > 0) {
          await child.promise;
          return "found it";
        }
        const spawn = { tool: "spawn", input: { profile: "worker", task: "dig" } };
        return caller.turn === 1 ? { calls: [spawn] } : "I started it.";
      },
    });
    const { delegationId, runId } = await api.client.startRun({ task: "go", profile: "lead" });
    const run = await until("the root has answered", async () => {
      const detail = await api.client.getRun({ runId });
      return detail.answer !== null && detail;
    });
    const [root, worker] = run.tree;
    expect(run).toMatchObject({ state: "running", result: null });
    const answer = { text: "I started it.", truncated: false, running: [worker?.delegationId] };
    expect(run.answer).toEqual(answer);
    expect(root).toMatchObject({ waitingOn: { on: "child", detail: worker?.delegationId } });
    expect(await api.client.getDelegation({ delegationId })).toMatchObject({ answer });
    child.resolve();
    const ended = await until("the run ends", async () => {
      const detail = await api.client.getRun({ runId });
      return detail.state !== "running" && detail;
    });
    expect(ended).toMatchObject({ state: "succeeded", answer: null });
  });

  it("take an empty or null field for one that is not given", async () => {
    await using api = await openApi(options);
    const body = { task: "alone", profile: "", context: "", modelOverride: null, maxTokens: null };
    const { delegationId } = await api.client.startRun({ ...body, wait: 20_000 } as never);
    const { profile, step } = await api.engine.store.readContract(delegationId);
    expect([profile.id, step.context]).toEqual(["general", null]);
  });

  it("are listed in pages, the newest first, by what they are", async () => {
    await using api = await openApi(options);
    const ids: string[] = [];
    for (const task of ["one", "two", "three"]) {
      ids.unshift((await api.client.startRun({ task, profile: "worker", wait: 20_000 })).runId);
    }
    const open = await api.client.startRun({ task: "hang", profile: "worker" });
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await api.client.listRuns({ limit: 2, cursor });
      seen.push(...page.items.map(({ runId }) => runId));
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
    expect(seen).toEqual([open.runId, ...ids]);
    const idsOf = async (query: Parameters<typeof api.client.listRuns>[0]) =>
      (await api.client.listRuns(query)).items.map(({ runId }) => runId);
    expect(await idsOf({ open: true })).toEqual([open.runId]);
    expect(await idsOf({ outcome: "succeeded" })).toEqual(ids);
    expect(await idsOf({ outcome: "failed" })).toEqual([]);
    expect(await idsOf({ application: "nobody" })).toEqual([]);
    expect((await api.client.listRuns({ limit: 1 })).items[0]).toMatchObject({
      state: "running",
      title: "hang",
      delegations: 1,
    });
    expect(await refusal(api.client.listRuns({ cursor: "bm9uc2Vuc2U" }))).toBe("400 usage");
    await api.client.cancelRun({ runId: open.runId });
  });

  it("are cancelled once, with who did it, and resumed as another run", async () => {
    await using api = await openApi(options);
    const operator = await api.as("operator", "olga");
    const { runId, delegationId } = await operator.startRun({ task: "hang", profile: "worker" });
    expect(await operator.cancelRun({ runId })).toEqual({ id: runId, outcome: "cancelled" });
    expect(await operator.cancelRun({ runId })).toMatchObject({ outcome: "already_terminal" });
    const run = await api.client.waitFor(runId);
    expect(run.tree[0]).toMatchObject({ outcome: "cancelled", closeReason: "cancelled" });
    expect(run.result?.result).toContain("cancelled by olga");
    const resumed = await operator.resumeRun({ runId });
    expect(resumed).toMatchObject({ as: "new" });
    expect(resumed.runId).not.toBe(runId);
    const detail = await api.client.getDelegation({ delegationId: resumed.delegationId });
    expect(detail).toMatchObject({ resumedFrom: delegationId });
    expect(detail.contract?.principal).toEqual({ id: "olga", role: "operator" });
    await operator.cancelDelegation({ delegationId: resumed.delegationId, reason: "enough" });
    const cancelled = await api.client.waitFor(resumed.runId);
    expect(cancelled.result?.result).toContain("enough");
  });

  it("say why they failed: cancelled and out of time are not broken", async () => {
    await using api = await openApi(options);
    const { client } = api;
    const ask = { profile: "worker", wait: 20_000 } as const;
    const stopped = await client.startRun({ ...ask, task: "hang", wait: 0 });
    await client.cancelRun({ runId: stopped.runId });
    const late = await client.startRun({ ...ask, task: "hang again", timeout: 50 });
    const done = await client.startRun({ ...ask, task: "dig" });
    const { items } = await client.listRuns();
    expect(items.map(({ closeReason, runId }) => [runId, closeReason])).toEqual([
      [done.runId, null],
      [late.runId, "timeout"],
      [stopped.runId, "cancelled"],
    ]);
    for (const { closeReason, runId, state } of items) {
      expect(await client.getRun({ runId })).toMatchObject({ closeReason, state });
    }
  });

  it("carry out a plan, and say everything that is wrong with one", async () => {
    await using api = await openApi(options);
    const steps = [{ title: "Dig", description: "dig", profile: "worker" }];
    const { runId } = await api.client.startRun({ plan: { goal: "a hole", steps }, wait: 20_000 });
    const run = await api.client.waitFor(runId);
    expect(run).toMatchObject({ state: "succeeded", title: "a hole (plan of 1 step)" });
    expect(run.tree.map(({ profile }) => profile)).toEqual(["plan-runner", "worker"]);
    const wrong = { steps: [{ title: "Dig", description: "dig", profile: "wroker" }] };
    await expect(api.client.startRun({ plan: wrong })).rejects.toMatchObject({
      code: "plan-invalid",
      message: expect.stringContaining("Did you mean worker?"),
    });
    expect(await refusal(api.client.startRun({ plan: wrong, task: "x" }))).toBe("400 usage");
    expect(await refusal(api.client.startRun({}))).toBe("400 usage");
  });

  it("hold no more than whoever asks holds, nor than the installation gives", async () => {
    await using api = await openApi(options);
    const scoped = await api.as("operator", "scoped", { scopes: ["web"] });
    const { delegationId, runId } = await scoped.startRun({ task: "alone", profile: "lead" });
    const { contract } = await api.client.getDelegation({ delegationId });
    expect(contract?.principal).toEqual({ id: "scoped", role: "operator" });
    expect(contract?.permissions.scopes).toEqual(["web"]);
    await api.client.waitFor(runId);
    const started = await scoped.executeCommand({ text: "/spawnagent worker alone too" });
    const { data } = started as { data: { delegationId: string; runId: string } };
    const commanded = await api.client.getDelegation({ delegationId: data.delegationId });
    expect(commanded.contract?.permissions.scopes).toEqual(["web"]);
    await api.client.waitFor(data.runId);
    const { runTokens } = (await api.client.getSystem()).limits;
    const greedy = api.client.startRun({ task: "x", budgetTokens: runTokens + 1 });
    expect(await refusal(greedy)).toBe("403 refused-by-policy");
    const readOnly = await api.client.startRun({
      task: "alone",
      profile: "lead",
      readOnly: true,
      maxTokens: 5000,
      wait: 20_000,
    });
    const bound = await api.client.getDelegation({ delegationId: readOnly.delegationId });
    expect(bound.contract?.workspace.allow_writes).toBe(false);
    expect(bound.cap?.tokens).toBe(5000);
  });

  it("work in the server's folders alone, also those that were begun elsewhere", async () => {
    await using api = await openApi(options);
    const outside = testFolder();
    symlinkSync(outside, join(api.engine.workspace, "link"));
    for (const workspace of [outside, "..", "/", "link", "missing"]) {
      const call = api.client.startRun({ task: "x", profile: "worker", workspace });
      expect(await refusal(call), workspace).toBe("403 refused-by-policy");
    }
    const none = await api.client.startRun({ task: "x", profile: "worker", workspace: null });
    expect((await api.client.waitFor(none.runId)).workspace).toBeNull();
    const elsewhere = await api.engine.start({
      task: "hang",
      profile: "worker",
      workspace: outside,
    });
    await api.engine.engine.cancel(elsewhere.runId, "to be resumed");
    await elsewhere.result;
    const { delegationId, runId } = elsewhere;
    expect((await api.client.getRun({ runId })).workspace).toBe(outside);
    for (const call of [
      () => api.client.resumeRun({ runId }),
      () => api.client.resumeDelegation({ delegationId }),
      () => api.client.continueSession({ sessionId: delegationId, message: "go on" }),
      () => api.client.mergeDelegation({ delegationId }),
      () => api.client.discardDelegation({ delegationId, deleteChanges: true }),
    ]) {
      expect(await refusal(call()), String(call)).toBe("403 refused-by-policy");
    }
    const typed = await api.client.executeCommand({ text: `/resume ${runId}` });
    expect(typed).toMatchObject({ ok: false, code: "refused-by-policy" });
  });

  it("are not found by ids that are none, or nobody's", async () => {
    await using api = await openApi(options);
    expect(await refusal(api.client.getRun({ runId: "r123456" }))).toBe("404 unknown-run");
    expect(await refusal(api.client.cancelRun({ runId: "r123456" }))).toBe("404 unknown-run");
    expect(await refusal(api.client.resumeRun({ runId: "r123456" }))).toBe("404 unknown-run");
    expect(await refusal(api.client.listRunEvents({ runId: "r123456" }))).toBe("404 unknown-run");
    for (const runId of ["123456", "r12345", "rABCDEF", "../health", "r123456/cancel", "%00"]) {
      expect(await refusal(api.client.getRun({ runId })), runId).toMatch(/^40[04] /);
    }
    const unknown = api.client.startRun({ task: "x", profile: "nobody" });
    expect(await refusal(unknown)).toBe("404 unknown-profile");
    expect(await refusal(api.client.startRun({ task: "x", agent: "@nobody" }))).toBe(
      "404 unknown-agent",
    );
  });
});
