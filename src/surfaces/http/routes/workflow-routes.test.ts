import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { sha256 } from "../../../events/hash-chain.ts";
import { ofType, testProfile } from "../../../testing/engine-fixture.ts";
import { until } from "../../../testing/until.ts";
import { openApi, refusal, type TestApi } from "./api.test-support.ts";

const head = "export const meta = { name: 'm', description: 'd', phases: [{ title: 'Ask' }] }\n";
const script = `${head}phase("Ask")
  const got = await parallel(["a", "b", "c"].map((n) => () => agent(n, { label: n })))
  return { got, last: await agent("last " + (args ?? "")) }`;

/** Agents whose task is in `hangs` never answer; those in `fails` fail. */
function scene({ fails = [] as string[], hangs = [] as string[] } = {}) {
  const asked: string[] = [];
  const options = {
    profiles: [testProfile("general", { tools: [] })],
    limits: { maxRetries: 0 },
    model({ caller: { task } }: { readonly caller: { readonly task: string } }) {
      asked.push(task);
      if (hangs.includes(task)) return { fault: "hang" as const };
      if (fails.includes(task)) return { fault: "rejected" as const };
      return `did ${task}`;
    },
  };
  return { asked, options, fails, hangs };
}

/** The call of this label, as soon as it is in this state. */
function callOf({ client }: TestApi, runId: string, label: string, state: string) {
  return until(`${label} is ${state}`, async () => {
    const { calls } = await client.getWorkflow({ runId }).catch(() => ({ calls: [] }));
    return calls.find((one) => one.label === label && one.state === state) ?? false;
  });
}

describe("a workflow over HTTP", () => {
  it("skips an agent that works, and the script gets null", async () => {
    const { options } = scene({ hangs: ["b"] });
    await using api = await openApi(options);
    const { runId } = await api.client.startRun({ workflow: { script } });
    const { delegation, key } = await callOf(api, runId, "b", "running");
    expect(await api.client.skipWorkflowAgent({ runId, key })).toEqual({
      delegationId: delegation,
      outcome: "skipped",
    });
    const run = await api.client.getRun({ runId, wait: 20_000 });
    expect(JSON.parse(run.result?.result ?? "")).toEqual({
      got: ["did a", null, "did c"],
      last: "did last ",
    });
    const view = await api.client.getWorkflow({ runId });
    expect(view.calls.map(({ label, phase, state }) => [label, phase, state])).toEqual([
      ["a", "Ask", "done"],
      ["b", "Ask", "skipped"],
      ["c", "Ask", "done"],
      ["last", "Ask", "done"],
    ]);
    const again = await api.client.skipWorkflowAgent({ runId, key });
    expect(again.outcome).toBe("already_terminal");
    expect(await refusal(api.client.skipWorkflowAgent({ runId, key: "x-1" }))).toBe("400 usage");
  });

  it("stops, and resumes with the results, the limits and the folder that it had", async () => {
    const { asked, hangs, options } = scene({ hangs: ["last "] });
    await using api = await openApi(options);
    const first = await api.client.startRun({
      ...{ workflow: { script }, maxCost: 3, maxTokens: 900_000, timeout: 500_000 },
      readOnly: true,
    });
    await callOf(api, first.runId, "last", "running");
    await api.client.cancelRun({ runId: first.runId });
    hangs.length = 0;
    asked.length = 0;
    const { as, delegationId, runId } = await api.client.resumeRun({ runId: first.runId });
    expect(as).toBe("new");
    const run = await api.client.getRun({ runId, wait: 20_000 });
    expect(run.state).toBe("succeeded");
    expect(asked).toEqual(["last "]);
    const contract = await api.engine.store.readContract(delegationId);
    expect(contract).toMatchObject({
      budget: { cost: 3, tokens: 900_000 },
      deadlines: { total: 500_000 },
      outputs: { report_path_pattern: null },
    });
    const { calls, resumes } = await api.client.getWorkflow({ runId });
    expect(resumes).toBe(first.delegationId);
    expect(calls.map(({ state }) => state)).toEqual(["replayed", "replayed", "replayed", "done"]);
    expect(calls[3]?.why).toBe("interrupted");
    expect(await api.client.verifyRun({ runId })).toMatchObject({ ok: true });
  });

  it("resumes with other arguments, and refuses them for what is no workflow", async () => {
    const { asked, options } = scene();
    await using api = await openApi(options);
    const { runId } = await api.client.startRun({ workflow: { script, args: "x" }, wait: 20_000 });
    const next = await api.client.resumeRun({ runId, workflow: { args: "y" } });
    await api.client.getRun({ runId: next.runId, wait: 20_000 });
    expect(asked).toEqual(["a", "b", "c", "last x", "last y"]);
    const plain = await api.client.startRun({ task: "hang", profile: "general", wait: 20_000 });
    const wish = { runId: plain.runId, workflow: { args: 1 } };
    expect(await refusal(api.client.resumeRun(wish))).toBe("400 usage");
    expect(await refusal(api.client.getWorkflow({ runId: plain.runId }))).toBe("404 unknown-run");
  });

  it("takes an edited script when it is trusted, and its own copy when the file is gone", async () => {
    const { asked, fails, options } = scene({ fails: ["c", "last "] });
    await using api = await openApi(options);
    const file = join(api.engine.workspace, ".claude", "workflows", "m.js");
    mkdirSync(dirname(file), { recursive: true });
    const write = async (text: string, trusted: boolean): Promise<void> => {
      writeFileSync(file, text);
      const by = { id: "ada", role: "operator" } as const;
      if (trusted) await api.engine.control.plane.trust(sha256(text), { file, name: "m" }, by);
    };
    await write(script, true);
    const { runId } = await api.client.startRun({ workflow: { name: "m" }, wait: 20_000 });
    expect(asked).toEqual(["a", "b", "c", "last "]);
    fails.length = 0;
    const edited = script.replace('"b"', '"b2"');
    await write(edited, false);
    expect(await refusal(api.client.resumeRun({ runId }))).toBe("403 refused-by-policy");
    await write("const x: number = 1", false);
    expect(await refusal(api.client.resumeRun({ runId }))).toBe("422 workflow-invalid");
    await write(edited, true);
    asked.length = 0;
    const second = await api.client.resumeRun({ runId });
    await api.client.getRun({ runId: second.runId, wait: 20_000 });
    expect(asked).toEqual(["b2", "c", "last "]);
    const { calls } = await api.client.getWorkflow({ runId: second.runId });
    expect(calls.map(({ label, why }) => [label, why])).toEqual([
      ["a", undefined],
      ["b2", "new"],
      ["c", "failed"],
      ["last", "failed"],
    ]);
    rmSync(file);
    asked.length = 0;
    const third = await api.client.resumeRun({ runId });
    await api.client.getRun({ runId: third.runId, wait: 20_000 });
    expect(asked).toEqual(["c", "last "]);
  });

  it("is resumed once, however many ask for it at once", async () => {
    const { fails, hangs, options } = scene({ fails: ["last "] });
    await using api = await openApi(options);
    const { runId } = await api.client.startRun({ workflow: { script }, wait: 20_000 });
    fails.length = 0;
    hangs.push("last ");
    const all = await Promise.allSettled(
      Array.from({ length: 4 }, () => api.client.resumeRun({ runId })),
    );
    expect(all.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const one of all) {
      if (one.status === "rejected") expect(one.reason).toMatchObject({ code: "conflict" });
    }
    const open = await api.client.listRuns({ open: true });
    expect(open.items).toHaveLength(1);
    const id = open.items[0]?.runId ?? "";
    await callOf(api, id, "last", "running");
    expect(await refusal(api.client.resumeRun({ runId }))).toBe("409 conflict");
    await api.client.cancelRun({ runId: id });
    const events = await api.engine.events(id);
    expect(ofType(events, "agent.workflow_started")).toHaveLength(1);
  });
});
