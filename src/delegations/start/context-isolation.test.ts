import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { defaultConfig } from "../../control/config.ts";
import type { Script } from "../../models/scripted/scripted-model.ts";
import { ofType, openEngine, recording, testProfile } from "../../testing/engine-fixture.ts";

const profiles = [
  testProfile("lead", { tools: ["delegate_task"], prompt: "You lead. Codeword: heron." }),
  testProfile("helper", { tools: [], prompt: "You help." }),
];

const leadDelegates: Script = ({ caller, messages }) => {
  if (caller.profile === "helper")
    return { text: "42 sheep", usage: { prompt: 20, completion: 2 } };
  if (caller.turn > 1) return `Counted: ${JSON.parse(messages.at(-1)?.text ?? "").result}`;
  const input = { profile: "helper", task: "count the sheep", context: "They are in the meadow." };
  return { text: "I will ask around.", calls: [{ tool: "delegate_task", input }] };
};

describe("a child", () => {
  it("sees its own prompt, its context and its task, and nothing of its caller", async () => {
    const { seen, model } = recording(leadDelegates);
    await using mandate = await openEngine({ profiles, model });
    await mandate.run({ task: "the secret plan", profile: "lead", context: "whispered" });
    const child = seen.find(({ caller }) => caller.profile === "helper");
    expect(child?.system).toBe("You help.");
    expect(child?.messages).toEqual([
      { role: "user", text: "Context:\nThey are in the meadow.\n\nTask:\ncount the sheep" },
    ]);
    expect(child?.tools).toEqual([]);
    expect(JSON.stringify(child)).not.toMatch(/secret|whispered|heron|ask around/);
  });

  it("has no Context: when it was given none", async () => {
    const { seen, model } = recording(() => "done");
    await using mandate = await openEngine({ profiles, model });
    await mandate.run({ task: "count", profile: "helper" });
    expect(seen[0]?.messages).toEqual([{ role: "user", text: "Task:\ncount" }]);
  });

  it("gets its prompt in stages: bootstrap files, the prompt file, the inline prompt", async () => {
    const { seen, model } = recording(() => "done");
    const staged = testProfile("staged", {
      tools: [],
      bootstrapFiles: ["SOUL.md"],
      systemPromptFile: "STAGED.md",
      prompt: "inline",
    });
    await using mandate = await openEngine({ profiles: [staged], model });
    for (const [file, text] of [
      ["SOUL.md", "soul"],
      ["STAGED.md", "file"],
      ["AGENTS.md", "no"],
    ] as const) {
      writeFileSync(join(mandate.workspace, file), `${text}\n`);
    }
    const { workspace } = mandate;
    await mandate.run({ task: "go", profile: "staged", workspace });
    await mandate.run({ task: "go", profile: "staged", workspace, systemPrompt: "of the call" });
    expect(seen.map(({ system }) => system)).toEqual([
      "soul\n\n---\n\nfile\n\n---\n\ninline",
      "soul\n\n---\n\nfile\n\n---\n\nof the call",
    ]);
  });

  it("loads AGENTS.md and ENVIRONMENT.md when its profile names no files", async () => {
    const { seen, model } = recording(() => "done");
    await using mandate = await openEngine({ profiles, model });
    writeFileSync(join(mandate.workspace, "AGENTS.md"), "house rules");
    writeFileSync(join(mandate.workspace, "ENVIRONMENT.md"), "linux");
    await mandate.run({ task: "go", profile: "helper", workspace: mandate.workspace });
    expect(seen[0]?.system).toBe("house rules\n\n---\n\nlinux\n\n---\n\nYou help.");
  });

  it("is shown the profiles it can delegate to only if it can delegate", async () => {
    const { seen, model } = recording(leadDelegates);
    await using mandate = await openEngine({ profiles, model });
    await mandate.run({ task: "go", profile: "lead" });
    const systemOf = (profile: string) =>
      seen.find(({ caller }) => caller.profile === profile)?.system;
    expect(systemOf("lead")).toContain('<profile name="helper">');
    expect(systemOf("helper")).not.toContain("available_spawn_profiles");
  });
});

describe("what a delegating agent is shown", () => {
  const config = { tools: { ...defaultConfig.tools, spawn: { ...defaultConfig.tools.spawn } } };

  it("names of each profile the tools that a child can be given, and no others", async () => {
    const { seen, model } = recording(({ caller }) =>
      caller.turn === 1 && caller.depth < 2
        ? { calls: [{ tool: "delegate_task", input: { profile: "lead", task: "x" } }] }
        : "done",
    );
    const lead = testProfile("lead", {
      tools: ["delegate_task", "read_file"],
      mayDelegate: { tools: ["delegate_task", "read_file", "grep"] },
    });
    const scout = testProfile("scout", {
      tools: ["grep", "shell", "web_search", "spawn", "delegate_task", "no_such_tool"],
    });
    const only = testProfile("only", { tools: ["no_such_tool"] });
    await using mandate = await openEngine({
      ...{ profiles: [lead, scout, only], model, config, limits: { maxDepth: 2 } },
    });
    await mandate.run({ task: "go", profile: "lead" });
    const shown = (depth: number) =>
      seen
        .find(({ caller }) => caller.depth === depth)
        ?.system.match(/<profile name="scout">.*/)?.[0];
    expect(shown(0)).toContain("The scout of a test. Tools: grep, delegate_task.<");
    expect(shown(1)).toContain("The scout of a test. Tools: grep.<");
    expect(seen[0]?.system).toContain('<profile name="only">The only of a test.</profile>');
  });

  it("says nothing of spawn where that is switched off", async () => {
    const { seen, model } = recording(() => "done");
    await using mandate = await openEngine({ profiles: [], model, config });
    await mandate.run({ task: "go", profile: "general", workspace: mandate.workspace });
    await mandate.run({ task: "go", profile: "orchestrator", workspace: mandate.workspace });
    expect(seen.length).toBe(2);
    for (const { system, tools } of seen) {
      expect(tools.map(({ name }) => name)).toContain("spawn_subagent");
      const texts = [system, ...tools.map((tool) => JSON.stringify(tool))].join("\n");
      expect(texts).not.toMatch(/(?<!available_)\bspawn(?!_subagent)/);
    }
  });
});

describe("the caller", () => {
  it("gains exactly one tool result in its conversation", async () => {
    const { seen, model } = recording(leadDelegates);
    await using mandate = await openEngine({ profiles, model });
    const { result } = await mandate.run({ task: "the plan", profile: "lead" });
    const last = seen.at(-1)?.messages ?? [];
    expect(last.map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
    expect(last.at(-1)).toMatchObject({
      tool: "delegate_task",
      callId: "call_1_1",
      isError: false,
    });
    expect(result.result).toBe("Counted: 42 sheep");
  });

  it("gets a DelegationResult with every field of the design", async () => {
    const { seen, model } = recording(leadDelegates);
    const prices = { "scripted/playbook": { input: 1, output: 2 } };
    const config = { models: { providers: {}, pools: {}, prices } };
    await using mandate = await openEngine({ profiles, model, config });
    const { result, events } = await mandate.run({ task: "the plan", profile: "lead" });
    const shown = JSON.parse(seen.at(-1)?.messages.at(-1)?.text ?? "");
    const [child] = result.subDelegations ?? [];
    expect(child).toMatchObject({
      delegationId: expect.stringMatching(/^[0-9a-f]{6,}$/),
      profile: "helper",
      status: "completed",
      result: "42 sheep",
      closeReason: "report_accepted",
      tokenUsage: { prompt: 20, completion: 2, cost: (20 + 2 * 2) / 1e6 },
      duration: expect.any(Number),
      evidence: { turns: 1, tool_calls: 0, attempts: 1, served: ["scripted/playbook"] },
    });
    expect(child).not.toHaveProperty("truncated");
    expect(child).not.toHaveProperty("subDelegations");
    expect(shown).toMatchObject({
      delegationId: child?.delegationId,
      profile: "helper",
      status: "completed",
      result: "42 sheep",
      tokenUsage: child?.tokenUsage,
      duration: child?.duration,
      closeReason: "report_accepted",
      evidence: { output_hash: child?.evidence.output_hash },
    });
    const settled = ofType(events, "agent.budget_settled", child?.delegationId);
    expect(child?.tokenUsage.prompt).toBe(settled[0]?.payload.prompt);
    expect(result.tokenUsage.prompt).toBe(
      ofType(events, "agent.budget_settled", result.delegationId).reduce(
        (sum, event) => sum + event.payload.prompt,
        0,
      ),
    );
  });

  it("reads the same result from the log as it was handed", async () => {
    await using mandate = await openEngine({ profiles, model: leadDelegates });
    const { runId, delegationId, result } = await mandate.run({
      task: "the plan",
      profile: "lead",
    });
    const child = result.subDelegations?.[0]?.delegationId ?? "";
    for (const id of [runId, delegationId]) {
      expect(await mandate.engine.resultOf(id)).toEqual({
        ...result,
        duration: expect.any(Number),
        subDelegations: [{ ...result.subDelegations?.[0], duration: expect.any(Number) }],
      });
    }
    expect(await mandate.engine.resultOf(child)).toMatchObject({
      status: "completed",
      result: "42 sheep",
    });
    expect(await mandate.engine.resultOf("000000")).toBeNull();
  });

  it("hears of a failure in the same shape, as the sentence of the error", async () => {
    const { seen, model } = recording((request) =>
      request.caller.profile === "helper" ? { fault: "rejected" } : leadDelegates(request),
    );
    await using mandate = await openEngine({ profiles, model });
    const { result } = await mandate.run({ task: "the plan", profile: "lead" });
    const shown = JSON.parse(seen.at(-1)?.messages.at(-1)?.text ?? "");
    expect(shown).toMatchObject({ status: "failed", closeReason: "provider_unavailable" });
    expect(shown.result).toMatch(/scripted to fail: rejected/);
    expect(result.status).toBe("completed");
  });
});
