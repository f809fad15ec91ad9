import { describe, expect, it } from "vitest";
import { scriptedModel } from "../../models/scripted/scripted-model.ts";
import { type Model, ModelFault, type ModelFaultKind } from "../../ports/model.ts";
import { ofType, openEngine, testProfile } from "../../testing/engine-fixture.ts";

function failing(kind: ModelFaultKind): Model {
  return () => Promise.reject(new ModelFault(kind, `it is ${kind}`));
}

const good = scriptedModel(({ model }) => `answered by ${model}`);

describe("a model that cannot be had", () => {
  it.each(["overloaded", "unauthorized", "rejected", "spend-cap", "connection"] as const)(
    "because it is %s is followed by the next of its profile, in order",
    async (kind) => {
      const model = { model: "test/one", fallbacks: ["test/two", "test/three"] };
      await using mandate = await openEngine({
        profiles: [testProfile("a", { tools: [], model })],
        models: { "test/one": failing(kind), "test/two": failing(kind), "test/three": good },
        limits: { requestTries: 2 },
      });
      const { events, result } = await mandate.run({ task: "go", profile: "a" });
      expect(result.result).toBe("answered by test/three");
      const turns = ofType(events, "agent.model_turn").map(({ payload }) => payload.requested);
      expect(turns).toEqual(["test/three"]);
      const given = ofType(events, "agent.retried").filter(
        ({ payload }) => payload.what === "model",
      );
      expect(given.map(({ payload }) => payload.reason)).toEqual([
        expect.stringContaining("test/two is asked in its place"),
        expect.stringContaining("test/three is asked in its place"),
      ]);
    },
  );

  it("and has no other ends the delegation, with the reason of the last one", async () => {
    const model = { model: "test/one", fallbacks: ["test/two"] };
    await using mandate = await openEngine({
      profiles: [testProfile("a", { tools: [], model })],
      models: { "test/one": failing("overloaded"), "test/two": failing("unauthorized") },
      limits: { requestTries: 1 },
    });
    const { result } = await mandate.run({ task: "go", profile: "a" });
    expect(result).toMatchObject({ status: "failed", closeReason: "provider_unavailable" });
    expect(result.result).toContain("unauthorized");
  });

  it("is the first of a pool, whose others follow", async () => {
    const pools = { team: ["test/one", "test/two"] };
    await using mandate = await openEngine({
      profiles: [testProfile("a", { tools: [], model: { pool: "team" } })],
      models: { "test/one": failing("overloaded"), "test/two": good },
      config: { models: { providers: {}, prices: {}, pools } },
      limits: { requestTries: 1 },
    });
    const { result } = await mandate.run({ task: "go", profile: "a" });
    expect(result.result).toBe("answered by test/two");
  });

  it("does not let a model answer that is neither pinned nor a fallback", async () => {
    const liar: Model = async () => ({
      ...{ text: "hello", calls: [], finish: "stop", usage: { prompt: 1, completion: 1 } },
      served: "test/three",
    });
    const model = { model: "test/one", fallbacks: ["test/two"] };
    await using mandate = await openEngine({
      profiles: [testProfile("a", { tools: [], model })],
      models: { "test/one": liar, "test/two": good },
    });
    const { result } = await mandate.run({ task: "go", profile: "a" });
    expect(result.closeReason).toBe("model_mismatch");
  });

  it("in a pool that nobody knows is a refusal that names it", async () => {
    await using mandate = await openEngine({
      profiles: [testProfile("a", { model: { pool: "smrt" } })],
      model: () => "done",
    });
    await expect(mandate.run({ task: "go", profile: "a" })).rejects.toThrow(/smrt.*smart/s);
  });
});

describe("what a profile says of its model", () => {
  it("reaches the request: temperature, top p and effort", async () => {
    const seen: unknown[] = [];
    await using mandate = await openEngine({
      profiles: [
        testProfile("a", { tools: [], model: { temperature: 0.5, topP: 0.9, effort: "high" } }),
        testProfile("b", { tools: [] }),
      ],
      model: ({ effort, temperature, topP }) => {
        seen.push({ effort, temperature, topP });
        return "done";
      },
    });
    await mandate.run({ task: "go", profile: "a" });
    await mandate.run({ task: "go", profile: "b" });
    expect(seen).toEqual([
      { temperature: 0.5, topP: 0.9, effort: "high" },
      { temperature: null, topP: null, effort: null },
    ]);
  });

  it("ends after so many turns, with the best result so far and no tools in the last one", async () => {
    const offered: number[] = [];
    await using mandate = await openEngine({
      profiles: [testProfile("a", { tools: ["read_file"], limits: { turns: 3 } })],
      model: ({ caller, tools }) => {
        offered.push(tools.length);
        const calls = [{ tool: "read_file", input: { path: `${caller.turn}` } }];
        return tools.length > 0 ? { calls, text: "working" } : "what I have";
      },
    });
    const { result } = await mandate.run({ task: "go", profile: "a" });
    expect(offered).toEqual([1, 1, 0]);
    expect(result).toMatchObject({ status: "completed", result: "what I have", truncated: true });
  });
});
