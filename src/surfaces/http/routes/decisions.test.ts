import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { type EngineOptions, testProfile } from "../../../testing/engine-fixture.ts";
import { until } from "../../../testing/until.ts";
import { openApi, refusal } from "./api.test-support.ts";

const options: EngineOptions = {
  profiles: [
    testProfile("clerk", {
      tools: ["edit_file", "write_file"],
      toolRules: [
        { tool: "edit_file", action: "ask" },
        { tool: "write_file", action: "ask" },
      ],
    }),
    testProfile("asker", { tools: ["ask_user"] }),
    testProfile("boss", { tools: ["delegate_task"] }),
    testProfile("worker", { tools: [] }),
  ],
  model({ caller, messages }) {
    const last = messages.at(-1);
    if (caller.task.includes("hang")) return { fault: "hang" };
    if (last?.role === "tool") return { text: `Heard: ${last.text}` };
    if (caller.profile === "asker") {
      return { calls: [{ tool: "ask_user", input: { message: "Which **one**?" } }] };
    }
    if (caller.profile === "boss") {
      const input = { profile: "worker", task: "hang" };
      return { calls: [{ tool: "delegate_task", input }] };
    }
    const input = { path: "boats.txt", content: "one\ntwo\n" };
    return { calls: [{ tool: "write_file", input }] };
  },
};

it("An open approval is shown with its change, and a rejection may say why", async () => {
  await using api = await openApi(options);
  const { runId } = await api.client.startRun({ task: "Write", profile: "clerk" });
  await until("the question", async () => (await openAsks(api)).length === 1);
  const [askId = ""] = await openAsks(api);
  const ask = await api.client.getAsk({ askId });
  expect(ask).toMatchObject({ runId, isApproval: true, task: "Write", call: null });
  expect(ask.who).toContain("clerk");
  expect(ask.patch).toBe("diff --git a/boats.txt b/boats.txt\n@@ the whole file @@\n+one\n+two");
  // An operator sees the questions of the runs that it started, and no other.
  const other = await api.as("operator", "other");
  expect(await refusal(other.getAsk({ askId }))).toBe("404 unknown-ask");
  await api.client.answerAsk({ askId, text: "no, because it is late" });
  expect(await refusal(api.client.getAsk({ askId }))).toBe("409 ask-closed");
  const { result } = await api.client.getRun({ runId, wait: 20_000 });
  expect(result?.result).toContain("not approved");
});

it("A question of an agent has no change, and one that there is not is unknown", async () => {
  await using api = await openApi(options);
  const { runId } = await api.client.startRun({ task: "Ask", profile: "asker" });
  await until("the question", async () => (await openAsks(api)).length === 1);
  const [askId = ""] = await openAsks(api);
  const ask = await api.client.getAsk({ askId });
  expect(ask).toMatchObject({ isApproval: false, question: "Which **one**?", patch: null });
  expect(await refusal(api.client.getAsk({ askId: "qffffff" }))).toBe("404 unknown-ask");
  await api.client.cancelRun({ runId });
});

it("A run that is to end after its sub-agents is cancelled when the last of them closes", async () => {
  await using api = await openApi(options);
  const { runId } = await api.client.startRun({ task: "Lead", profile: "boss" });
  const childOf = async () =>
    (await api.client.getRun({ runId })).tree.find(({ depth }) => depth === 1);
  await until("the child", async () => (await childOf())?.status === "running");
  const child = await childOf();
  const wish = { runId, how: "after-children" } as const;
  expect((await api.client.interruptRun(wish)).outcome).toBe("waiting");
  expect((await api.client.interruptRun(wish)).outcome).toBe("waiting");
  expect((await api.client.getRun({ runId })).state).toBe("running");
  await api.client.cancelDelegation({ delegationId: child?.delegationId ?? "" });
  await until("the end", async () => (await api.client.getRun({ runId })).state !== "running");
  const run = await api.client.getRun({ runId });
  expect(run).toMatchObject({ failed: 0, kept: 0 });
  expect(await refusal(api.client.interruptRun({ runId: "rffffff" }))).toBe("404 unknown-run");
  const viewer = await api.as("viewer");
  expect(await refusal(viewer.interruptRun({ runId }))).toMatch(/^403 /);
});

it("A run lists the files that its agents changed", async () => {
  await using api = await openApi(options);
  writeFileSync(join(api.engine.workspace, "boats.txt"), "none\n");
  const { runId } = await api.client.startRun({ task: "Write", profile: "clerk" });
  await until("the question", async () => (await openAsks(api)).length === 1);
  const [askId = ""] = await openAsks(api);
  await api.client.answerAsk({ askId, text: "yes" });
  await api.client.getRun({ runId, wait: 20_000 });
  const changes = await api.client.getRunChanges({ runId });
  expect(readFileSync(join(api.engine.workspace, "boats.txt"), "utf8")).toBe("one\ntwo\n");
  expect(changes).toMatchObject({ total: 1, hasCommands: false, kept: [] });
  expect(changes.files).toMatchObject([{ path: "boats.txt", change: "changed" }]);
});

async function openAsks({ client }: Pick<Awaited<ReturnType<typeof openApi>>, "client">) {
  const { items } = await client.listInbox({ openOnly: true });
  return items.flatMap(({ ask }) => (ask === undefined ? [] : [ask.id]));
}
