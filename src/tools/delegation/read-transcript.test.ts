import { describe, expect, it } from "vitest";
import { defaultConfig } from "../../control/config.ts";
import type { ScriptedCall } from "../../models/scripted/playbook.ts";
import { openEngine, recording, testProfile } from "../../testing/engine-fixture.ts";
import { until } from "../../testing/until.ts";

const readers = ["peek_result", "search_result", "slice_result"];
const own = ["delegate_task", "spawn", "spawn_await", "get_delegation_result", "memory_load"];
const profiles = [
  testProfile("lead", { tools: [...own, ...readers] }),
  testProfile("worker", { tools: ["memory_load"] }),
];

/** What a lead is answered that delegates by these calls and then makes others about the child. */
async function ask(
  sealOnComplete: boolean,
  first: readonly ScriptedCall[],
  then: (answers: readonly string[]) => ScriptedCall | undefined,
): Promise<readonly string[]> {
  const { seen, model } = recording(({ caller, messages }) => {
    if (caller.depth > 0) {
      if (caller.turn > 1) return "The report.";
      const calls = [{ tool: "memory_load", input: { query: "a private thought" } }];
      return { text: "Let me look first.", calls };
    }
    const call =
      first[caller.turn - 1] ??
      then(messages.flatMap((each) => (each.role === "tool" ? each.text : [])));
    return call === undefined ? "done" : { calls: [call] };
  });
  await using mandate = await openEngine({ profiles, model, config: configWith(sealOnComplete) });
  await mandate.run({ task: "go", profile: "lead" });
  const last = seen.filter(({ caller }) => caller.depth === 0).at(-1)?.messages ?? [];
  return last.flatMap((message) => (message.role === "tool" ? message.text : []));
}

function configWith(sealOnComplete: boolean) {
  const { delegation } = defaultConfig.agents;
  const context = { ...delegation.context, sealOnComplete };
  return { agents: { delegation: { ...delegation, context } } };
}

const delegate: ScriptedCall = {
  tool: "delegate_task",
  input: { profile: "worker", task: "report" },
};

describe("a sealed child", () => {
  it("gives its caller a result that refers to nothing else", async () => {
    const [result = "{}"] = await ask(true, [delegate], () => undefined);
    expect(JSON.parse(result)).not.toHaveProperty("transcript");
    expect(result).not.toContain("private thought");
  });

  it("is not opened by somebody who knows what the reference would be", async () => {
    const [result = "{}", ...answers] = await ask(true, [delegate], (said) => {
      const delegationId = `${JSON.parse(said[0] ?? "{}").delegationId}/transcript`;
      const input = { delegationId, query: "thought", from: 1 };
      const tool = readers[said.length - 1];
      if (tool === undefined) return undefined;
      const { query, from } = input;
      if (tool === "search_result") return { tool, input: { delegationId, query } };
      return { tool, input: tool === "slice_result" ? { delegationId, from } : { delegationId } };
    });
    const { delegationId } = JSON.parse(result);
    expect(answers).toEqual(Array(3).fill(`Error: the transcript of ${delegationId} is sealed`));
  });
});

describe("a child that is not sealed", () => {
  it("gives a reference by which its caller reads all that it said and did", async () => {
    const [result = "{}", found, peeked] = await ask(false, [delegate], (said) => {
      const delegationId = JSON.parse(said[0] ?? "{}").transcript;
      if (said.length === 1)
        return { tool: "search_result", input: { delegationId, query: "thought" } };
      return said.length === 2 ? { tool: "peek_result", input: { delegationId } } : undefined;
    });
    const { delegationId, result: text, transcript } = JSON.parse(result);
    expect(text).toBe("The report.");
    expect(transcript).toBe(`${delegationId}/transcript`);
    expect(found).toContain("a private thought");
    expect(peeked).toContain("Let me look first.");
    expect(peeked).toContain("The report.");
  });

  it("says so wherever its result is given as text", async () => {
    const spawn: ScriptedCall = { tool: "spawn", input: { profile: "worker", task: "report" } };
    const wait: ScriptedCall = { tool: "spawn_await", input: { job_ids: "*" } };
    const [id = "", awaited] = await ask(false, [spawn, wait], () => undefined);
    expect(awaited).toBe(
      `[${id}: OK]\nThe report.\n[What it said and did: peek_result, search_result or slice_result, delegationId ${id}/transcript.]`,
    );
  });

  it("is read by those above it alone", async () => {
    const [, ...answers] = await ask(false, [delegate], (said) => {
      const id = ["ffffff/transcript", "/transcript", "../transcript"][said.length - 1];
      return id === undefined ? undefined : { tool: "peek_result", input: { delegationId: id } };
    });
    expect(answers).toHaveLength(3);
    for (const answer of answers) expect(answer).toMatch(/^Error: there is no result of/);
  });
});

describe.each([
  ["sealed", true],
  ["not sealed", false],
])("a child that was made %s", (_title, sealOnComplete) => {
  it("stays so when its run is taken up under another configuration; later ones are made by that", async () => {
    let isRecovered = false;
    const { seen, model } = recording(async ({ caller, messages }) => {
      if (caller.depth > 0) return "The report.";
      const said = messages.flatMap((each) => (each.role === "tool" ? each.text : []));
      if (said.length === 0) return { calls: [delegate] };
      if (!isRecovered) await new Promise(() => undefined);
      if (said.length === 1) return { calls: [delegate] };
      if (said.length > 3) return "done";
      const { delegationId } = JSON.parse(said[said.length - 2] ?? "{}");
      return {
        calls: [{ tool: "peek_result", input: { delegationId: `${delegationId}/transcript` } }],
      };
    });
    const before = { profiles, model, config: configWith(sealOnComplete) };
    await using mandate = await openEngine(before);
    const { runId } = await mandate.start({ task: "go", profile: "lead" });
    await until("the lead asks again", () => seen.length >= 3);
    mandate.abandon();
    isRecovered = true;
    const second = await mandate.another({ ...before, config: configWith(!sealOnComplete) });
    const [recovered] = await second.engine.recover(runId);
    expect((await recovered?.result)?.status).toBe("completed");
    const last = seen.at(-1)?.messages.filter(({ role }) => role === "tool") ?? [];
    const [first, later, ...peeked] = last.map(({ text }) => text);
    expect(JSON.parse(first ?? "{}").transcript === undefined).toBe(sealOnComplete);
    expect(JSON.parse(later ?? "{}").transcript === undefined).toBe(!sealOnComplete);
    expect(peeked.map((text) => text.endsWith("is sealed"))).toEqual([
      sealOnComplete,
      !sealOnComplete,
    ]);
  });
});
