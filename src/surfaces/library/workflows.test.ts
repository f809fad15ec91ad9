import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { scriptedModel } from "../../models/scripted/scripted-model.ts";
import { until } from "../../testing/until.ts";
import { createMandate, type Mandate } from "./mandate.ts";

const script = `export const meta = { name: "notes", description: "Three notes" }
return await parallel(["one", "slow", args].map((n) => () => agent(n, { label: n })))`;

let root = "";
let folder = "";
let mandate: Mandate;
let asked: string[] = [];

beforeEach(async () => {
  asked = [];
  root = realpathSync(mkdtempSync(join(tmpdir(), "mandate-library-")));
  folder = join(root, "project");
  mkdirSync(join(folder, ".claude", "workflows"), { recursive: true });
  writeFileSync(join(folder, ".claude", "workflows", "notes.js"), script);
  const general = { name: "general", description: "g", prompt: "", tools: [], origin: "test" };
  mandate = await createMandate({
    database: ":memory:",
    environment: { HOME: join(root, "home") },
    trustWorkspace: true,
    profiles: [{ ...general, capabilities: ["subtask"] }],
    scripted: scriptedModel(({ caller: { task } }) => {
      asked.push(task);
      return task === "slow" ? { fault: "hang" } : `did ${task}`;
    }),
  });
});

afterEach(async () => {
  const { violations } = await mandate.verify();
  await mandate.close();
  rmSync(root, { recursive: true, force: true });
  expect(violations).toEqual([]);
});

/** Skips the agent that never answers. */
async function skipSlow(id: string): Promise<void> {
  const key = await until("the slow agent works", async () => {
    const calls = (await mandate.getWorkflow(id))?.calls ?? [];
    return calls.find(({ label, state }) => label === "slow" && state === "running")?.key;
  });
  expect(await mandate.skipAgent(id, key)).toMatchObject({ outcome: "skipped" });
}

test("a program runs a script by its name, skips an agent, and resumes with other arguments", async () => {
  const run = await mandate.runWorkflow({ name: "notes", args: "two", workspace: folder });
  await skipSlow(run.runId);
  expect(JSON.parse((await run.result).result)).toEqual(["did one", null, "did two"]);
  asked = [];
  const resumed = await mandate.resume(run.runId, { workflow: { args: "three" } });
  await skipSlow(resumed.runId);
  expect(JSON.parse((await resumed.result).result)).toEqual(["did one", null, "did three"]);
  expect(asked.sort()).toEqual(["slow", "three"]);
  const view = await mandate.getWorkflow(resumed.delegationId);
  expect(view?.calls.map(({ label, state, why }) => [label, state, why])).toEqual([
    ["one", "replayed", undefined],
    ["slow", "skipped", "failed"],
    ["three", "done", "new"],
  ]);
  expect(await mandate.getWorkflow("r000000")).toBeNull();
});

test("a person starts one by its name in a chat", async () => {
  const by = { id: "otto", role: "operator", session: "s1", workspace: folder } as const;
  const started = await mandate.command('/workflow notes "four"', by);
  expect(started.reply).toMatch(/^Started the workflow "notes" in run r[0-9a-f]{6}\.$/);
  const { runId } = (started.ok && started.data) as { runId: string };
  await skipSlow(runId);
  const { result } = await until("the run ends", () => mandate.getResult(runId));
  expect(JSON.parse(result)).toEqual(["did one", null, "did four"]);
  const missing = await mandate.command("/workflow nothing", by);
  expect(missing).toMatchObject({ ok: false, reply: expect.stringContaining("Known: notes.") });
  expect(await mandate.command("/workflow", by)).toMatchObject({ ok: false });
});
