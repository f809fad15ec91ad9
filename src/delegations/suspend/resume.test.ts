import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Script } from "../../models/scripted/scripted-model.ts";
import { ofType, openEngine, recording, testProfile } from "../../testing/engine-fixture.ts";
import { until } from "../../testing/until.ts";

const profiles = [
  testProfile("worker", { tools: ["list_files"] }),
  testProfile("lead", { tools: ["spawn", "spawn_await", "delegate_task", "list_files"] }),
  testProfile("wide", { tools: ["list_files", "read_file", "write_file", "delegate_task"] }),
];

/** Lists once, then hangs until it is resumed; then it says what it remembers. */
const interrupted: Script = ({ caller, messages }) => {
  if (messages.some(({ text }) => text.includes("interrupted here"))) {
    return `I remember ${messages.length} messages of "${caller.task}"`;
  }
  if (caller.turn === 1) return { text: "first", calls: [{ tool: "list_files", input: {} }] };
  return { fault: "hang" };
};

describe("resuming what was cancelled", () => {
  it("is a new delegation that goes on with the old conversation", async () => {
    const { seen, model } = recording(interrupted);
    await using mandate = await openEngine({ profiles, model });
    const { workspace } = mandate;
    const old = await mandate.start({
      task: "look around",
      profile: "worker",
      context: "here",
      workspace,
    });
    await until("the second turn", () => seen.length > 1);
    await mandate.engine.cancel(old.runId, "for now");
    expect((await old.result).status).toBe("cancelled");
    const resumed = await mandate.engine.resume(old.delegationId);
    expect(resumed.runId).not.toBe(old.runId);
    expect(await resumed.result).toMatchObject({
      status: "completed",
      result: 'I remember 4 messages of "look around"',
    });
    const [created] = ofType(await mandate.events(resumed.runId), "agent.subagent_created");
    expect(created?.payload).toMatchObject({ resumed_from: old.delegationId, profile: "worker" });
    expect(seen.at(-1)?.messages).toMatchObject([
      { role: "user", text: "Context:\nhere\n\nTask:\nlook around" },
      { role: "assistant", text: "first" },
      { role: "tool", tool: "list_files" },
      { role: "user", text: expect.stringContaining("interrupted here") },
    ]);
    const contract = await mandate.store.readContract(resumed.delegationId);
    expect(contract.workspace.root).toBe(workspace);
  });

  it("tells the model of a call that was cut that its outcome is unknown", async () => {
    const { seen, model } = recording((request) =>
      request.messages.some(({ text }) => text.includes("interrupted here"))
        ? "done"
        : { calls: [{ tool: "ask_user", input: { message: "shall I?" } }] },
    );
    const asker = testProfile("asker", { tools: ["ask_user"] });
    await using mandate = await openEngine({ profiles: [asker], model });
    const old = await mandate.start({ task: "go", profile: "asker" });
    await until("the question", async () =>
      ofType(await mandate.events(old.runId), "agent.asked").at(0),
    );
    await mandate.engine.cancel(old.runId, "for now");
    const resumed = await mandate.engine.resume(old.runId);
    expect((await resumed.result).status).toBe("completed");
    const result = seen.at(-1)?.messages.find(({ role }) => role === "tool");
    expect(result).toMatchObject({ isError: true });
  });

  it("survives a crash of its own", async () => {
    const { seen, model } = recording(interrupted);
    await using mandate = await openEngine({ profiles, model });
    const { workspace } = mandate;
    const old = await mandate.start({ task: "look", profile: "worker", workspace });
    await until("the second turn", () => seen.length > 1);
    await mandate.engine.cancel(old.runId, "for now");
    let dead = false;
    const dying: Script = (request) => (dead ? interrupted(request) : { fault: "hang" });
    const second = await mandate.another({ profiles, model: dying });
    const resumed = await second.engine.resume(old.runId);
    second.abandon();
    dead = true;
    const third = await mandate.another({ profiles, model: dying });
    const [recovered] = await third.engine.recover();
    expect(recovered?.runId).toBe(resumed.runId);
    expect((await recovered?.result)?.result).toBe('I remember 4 messages of "look"');
  });

  it("is refused for what still runs, for what is completed and for what never was", async () => {
    let hang = true;
    await using mandate = await openEngine({
      profiles,
      model: () => (hang ? { fault: "hang" } : "done"),
    });
    const running = await mandate.start({ task: "go", profile: "worker" });
    await expect(mandate.engine.resume(running.runId)).rejects.toMatchObject({
      code: "not-resumable",
    });
    await mandate.engine.cancel(running.runId, "for now");
    hang = false;
    const resumed = await mandate.engine.resume(running.delegationId);
    expect((await resumed.result).status).toBe("completed");
    await expect(mandate.engine.resume(resumed.runId)).rejects.toMatchObject({
      code: "not-resumable",
    });
    for (const id of ["ffffff", "rffffff", ""]) {
      await expect(mandate.engine.resume(id)).rejects.toMatchObject({ code: "unknown-delegation" });
    }
  });

  it("gives no child more than it had: not the tools, depth, tokens or time its caller left out", async () => {
    const { seen, model } = recording(({ caller }) => {
      if (caller.depth > 0 || caller.profile === "wide") return { fault: "hang" };
      const input = { task: "x", profile: "wide", tools: "list_files" };
      return { calls: [{ tool: "spawn", input }] };
    });
    await using mandate = await openEngine({ profiles, model });
    const request = { task: "go", profile: "lead", maxTokens: 20_000, timeoutMs: 30_000 };
    const old = await mandate.start({ ...request, workspace: mandate.workspace });
    await until("the child is at work", () => seen.some(({ caller }) => caller.depth === 1));
    const child = [...((await mandate.store.readRun(old.runId))?.delegations.values() ?? [])][1];
    const before = await mandate.store.readContract(child?.id ?? "");
    await mandate.engine.cancel(old.runId, "for now");
    const resumed = await mandate.engine.resume(child?.id ?? "");
    const after = await mandate.store.readContract(resumed.delegationId);
    await mandate.engine.cancel(resumed.runId, "enough");
    expect(before.permissions.allowed_tools).toEqual(["list_files"]);
    expect(after.permissions.allowed_tools).toEqual(["list_files"]);
    expect(after.permissions.can_spawn_children).toBe(false);
    expect(after.permissions.write_roots).toEqual(before.permissions.write_roots);
    expect(after.budget.tokens).toBeLessThanOrEqual(before.budget.tokens);
    expect(after.deadlines.total).toBeLessThanOrEqual(before.deadlines.total);
  });

  it("lets no child write whose caller could hand on no place to write", async () => {
    const { seen, model } = recording(({ caller, messages }) => {
      if (caller.profile === "reader") {
        return { calls: [{ tool: "spawn", input: { task: "x", profile: "wide" } }] };
      }
      if (!messages.some(({ text }) => text.includes("interrupted here"))) return { fault: "hang" };
      if (caller.turn > 1) return "done";
      return { calls: [{ tool: "write_file", input: { path: "a.txt", content: "x" } }] };
    });
    const reader = testProfile("reader", {
      tools: ["spawn", "list_files", "write_file"],
      workspace: { allowWrites: false },
    });
    await using mandate = await openEngine({ profiles: [...profiles, reader], model });
    const { workspace } = mandate;
    const old = await mandate.start({ task: "go", profile: "reader", workspace });
    await until("the child is at work", () => seen.some(({ caller }) => caller.depth === 1));
    const child = [...((await mandate.store.readRun(old.runId))?.delegations.values() ?? [])][1];
    await mandate.engine.cancel(old.runId, "for now");
    const resumed = await mandate.engine.resume(child?.id ?? "");
    await resumed.result;
    const after = await mandate.store.readContract(resumed.delegationId);
    expect(after.permissions.allowed_tools).toContain("write_file");
    expect(after.permissions.write_roots).toEqual([]);
    expect(after.workspace).toMatchObject({ root: workspace, allow_writes: false });
    const [denied] = ofType(await mandate.events(resumed.runId), "agent.tool_denied");
    expect(denied?.payload).toMatchObject({ tool: "write_file", rule: "writes_not_allowed" });
    expect(existsSync(join(workspace, "a.txt"))).toBe(false);
  });

  it("holds a child to the cost that its caller left it", async () => {
    const { seen, model } = recording(({ caller }) => {
      if (caller.profile !== "thrifty") return { fault: "hang" };
      return { calls: [{ tool: "spawn", input: { task: "x", profile: "worker" } }] };
    });
    const limits = { cost: 0.5 };
    const thrifty = testProfile("thrifty", { tools: ["spawn", "list_files"], limits });
    await using mandate = await openEngine({ profiles: [...profiles, thrifty], model });
    const old = await mandate.start({ task: "go", profile: "thrifty" });
    await until("the child is at work", () => seen.some(({ caller }) => caller.depth === 1));
    const child = [...((await mandate.store.readRun(old.runId))?.delegations.values() ?? [])][1];
    await mandate.engine.cancel(old.runId, "for now");
    const resumed = await mandate.engine.resume(child?.id ?? "");
    const { budget } = await mandate.store.readContract(resumed.delegationId);
    await mandate.engine.cancel(resumed.runId, "enough");
    expect(budget.cost).toBe(0.5);
  });

  it("does not follow a profile that has grown since then", async () => {
    const { seen, model } = recording(interrupted);
    const before = testProfile("growing", {
      tools: ["list_files"],
      scopes: ["read"],
      network: [],
      workspace: { writeRoots: ["docs"] },
    });
    await using mandate = await openEngine({ profiles: [before], model });
    const { workspace } = mandate;
    mkdirSync(join(workspace, "docs"));
    const old = await mandate.start({ task: "look", profile: "growing", workspace });
    await until("the second turn", () => seen.length > 1);
    await mandate.engine.cancel(old.runId, "for now");
    const grown = testProfile("growing", { tools: "*", mayDelegate: { tools: "*" } });
    const later = await mandate.another({ profiles: [grown], model });
    const resumed = await later.engine.resume(old.runId);
    expect((await resumed.result).status).toBe("completed");
    const { permissions } = await later.store.readContract(resumed.delegationId);
    expect(permissions).toMatchObject({
      allowed_tools: ["list_files"],
      can_spawn_children: false,
      scopes: ["read"],
      network: [],
      write_roots: [join(workspace, "docs")],
    });
  });

  it("goes on with the prompt, the model and the criteria that were agreed, also without a profile", async () => {
    let hangs = true;
    const { seen, model } = recording(({ caller }) => {
      if (caller.depth === 0 && caller.turn === 1 && caller.profile === "lead") {
        const input = { task: "dig", system_prompt: "You dig." };
        return { calls: [{ tool: "spawn", input }] };
      }
      return hangs ? { fault: "hang" } : "dug";
    });
    const lead = testProfile("lead", { tools: ["spawn", "list_files"] });
    await using mandate = await openEngine({ profiles: [lead], model });
    const old = await mandate.start({ task: "go", profile: "lead" });
    await until("the child is at work", () => seen.some(({ caller }) => caller.depth === 1));
    const child = [...((await mandate.store.readRun(old.runId))?.delegations.values() ?? [])][1];
    await mandate.engine.cancel(old.runId, "for now");
    hangs = false;
    const resumed = await mandate.engine.resume(child?.id ?? "");
    expect((await resumed.result).result).toBe("dug");
    expect(seen.at(-1)?.system).toBe("You dig.");
    const [before, after] = await Promise.all(
      [child?.id ?? "", resumed.delegationId].map((id) => mandate.store.readContract(id)),
    );
    expect(after?.model).toEqual(before?.model);
    expect(after?.profile.prompt).toBe(before?.profile.prompt);
  });
});
