import fc from "fast-check";
import { expect, test } from "vitest";
import { MandateError } from "../ports/mandate-error.ts";
import { createModelRegistry, type ModelsConfig } from "./model-registry.ts";
import { scriptedModel } from "./scripted/scripted-model.ts";

const anthropic = { ANTHROPIC_API_KEY: "a" };
const openai = { OPENAI_API_KEY: "o" };

function registry(environment: Record<string, string> = {}, config: ModelsConfig = {}) {
  return createModelRegistry({ environment, config });
}

test("a policy's model comes first, then its fallbacks, each once", () => {
  const { candidates } = registry({ ...anthropic, ...openai });
  const fallbacks = ["openai/gpt-5", "anthropic/claude", "openai/gpt-5"];
  expect(candidates({ model: "anthropic/claude", fallbacks })).toEqual([
    "anthropic/claude",
    "openai/gpt-5",
  ]);
});

test("a pool stands in for a model, and a model wins over a pool", () => {
  const pools = { quick: ["openai/a", "anthropic/b"] };
  const { candidates, pool } = registry({ ...anthropic, ...openai }, { pools });
  expect(pool("quick")).toEqual(pools.quick);
  expect(pool("constructor")).toBeUndefined();
  expect(candidates({ pool: "quick", fallbacks: ["openai/c"] })).toEqual([
    ...pools.quick,
    "openai/c",
  ]);
  expect(candidates({ model: "openai/x", pool: "quick" })).toEqual(["openai/x"]);
});

test("a policy that says nothing runs on the default", () => {
  expect(registry(openai).candidates({})).toEqual([registry(openai).defaultModel]);
  const refusal = expect.objectContaining({ code: "model-not-configured" });
  expect(() => registry({}).candidates({})).toThrow(refusal);
  const fallbacks = ["openai/b"];
  const { candidates } = registry({ ...openai, MANDATE_MODEL: "openai/a" });
  expect(candidates({ fallbacks })).toEqual(["openai/a", "openai/b"]);
});

test("a default pool is the default, unless a model was named for this start", () => {
  const config = { defaultPool: "mine", pools: { mine: ["anthropic/a", "openai/b", "openai/c"] } };
  const { candidates, defaultModel } = registry(openai, config);
  expect(candidates({})).toEqual(["openai/b", "openai/c"]);
  expect(defaultModel).toBe("openai/b");
  const named = registry({ ...openai, MANDATE_MODEL: "openai/x" }, config);
  expect(named.defaultModel).toBe("openai/x");
  expect(named.candidates({})).toEqual(["openai/x"]);
  expect(registry({}, config).defaultModel).toBe("anthropic/a");
});

test("models that cannot be reached are left out", () => {
  const { candidates } = registry(openai);
  const sonnet = candidates({ pool: "sonnet" });
  expect(sonnet.length).toBeGreaterThan(0);
  expect(sonnet.every((name) => name.startsWith("openai/"))).toBe(true);
  const fallbacks = ["openai/gpt-5", "nobody/knows"];
  expect(candidates({ model: "anthropic/claude", fallbacks })).toEqual(["openai/gpt-5"]);
});

test("a local server needs no key to be a candidate, nor do the user's own models", () => {
  const own = scriptedModel(() => "x");
  const { candidates } = createModelRegistry({
    environment: {},
    models: { "acme/one": own, acme2: own },
  });
  expect(candidates({ model: "ollama/qwen3", fallbacks: ["acme/one", "acme2/two"] })).toEqual([
    "ollama/qwen3",
    "acme/one",
    "acme2/two",
  ]);
});

test("when nothing can be reached, the keys that would help are named", () => {
  const refusal = (words: RegExp) =>
    expect.objectContaining({
      code: "model-not-configured",
      message: expect.stringMatching(words),
    });
  const { candidates } = registry();
  expect(() => candidates({ pool: "smart" })).toThrow(
    refusal(/pool "smart".*ANTHROPIC_API_KEY or OPENAI_API_KEY or GOOGLE_GENERATIVE_AI_API_KEY/),
  );
  expect(() => candidates({ model: "openai/gpt-5" })).toThrow(refusal(/OPENAI_API_KEY/));
  const gateway: ModelsConfig = {
    providers: { gw: { kind: "openai-compatible", baseUrl: "http://gw", apiKeyEnv: "GW_KEY" } },
  };
  expect(() =>
    registry({}, gateway).candidates({ model: "gw/a", fallbacks: ["openai/b"] }),
  ).toThrow(refusal(/GW_KEY or OPENAI_API_KEY/));
});

test.each([
  ["smrt", /unknown pool "smrt"; did you mean "smart"\? known are .*sonnet/],
  ["constructor", /unknown pool "constructor"/],
])("the pool %s is unknown, and the known ones are named", (pool, message) => {
  const refusal = { code: "unknown-model", message: expect.stringMatching(message) };
  expect(() => registry(openai).candidates({ pool })).toThrow(expect.objectContaining(refusal));
});

test("a model that nobody knows is named as that when nothing else is left", () => {
  const refusal = { code: "unknown-model", message: expect.stringContaining("anthropic") };
  const policy = { model: "anthropc/x", fallbacks: ["openai/y"] };
  expect(() => registry().candidates(policy)).toThrow(expect.objectContaining(refusal));
});

test("what is not allowed is no candidate, and nothing allowed is a refusal", () => {
  const { candidates } = registry({ ...anthropic, ...openai }, { allow: ["openai/*"] });
  const opus = candidates({ pool: "opus" });
  expect(opus.every((name) => name.startsWith("openai/"))).toBe(true);
  const refusal = { code: "refused-by-policy", message: expect.stringContaining("models.allow") };
  expect(() => candidates({ model: "anthropic/x" })).toThrow(expect.objectContaining(refusal));
});

test("while a playbook answers nothing is left out, and pools resolve by name all the same", () => {
  const { candidates, pool, defaultModel } = createModelRegistry({
    environment: {},
    config: { allow: ["openai/*"], pools: { mine: ["anthropic/a", "nobody/b"] } },
    scripted: scriptedModel(() => "from the playbook"),
  });
  expect(candidates({ pool: "mine" })).toEqual(pool("mine"));
  expect(candidates({ model: "anthropic/x", fallbacks: ["nobody/y"] })).toEqual([
    "anthropic/x",
    "nobody/y",
  ]);
  expect(candidates({})).toEqual([defaultModel]);
  expect(defaultModel).toBe("scripted/playbook");
  expect(() => candidates({ pool: "gone" })).toThrow(/unknown pool/);
});

test("whatever a policy says, every candidate can be resolved, in the order it was named", () => {
  const model = fc.constantFrom(
    ...["openai/a", "openai/b", "anthropic/a", "google/a", "ollama/a", "nobody/a", "broken"],
  );
  const models = fc.array(model, { maxLength: 5 });
  const key = fc.constantFrom("", "k");
  const given = fc.record({
    environment: fc.record({ OPENAI_API_KEY: key, ANTHROPIC_API_KEY: key }),
    pools: fc.record({ mine: models }),
    allow: fc.option(fc.array(fc.constantFrom("openai/*", "anthropic/a", "ollama/*")), {
      nil: undefined,
    }),
    policy: fc.record(
      { model, pool: fc.constantFrom("mine", "gone"), fallbacks: models },
      { requiredKeys: [] },
    ),
  });
  const check = ({ environment, pools, allow, policy }: Given): void => {
    const { candidates, resolve } = registry(environment, { pools, ...(allow && { allow }) });
    let names: readonly string[];
    try {
      names = candidates(policy);
    } catch (error) {
      expect(error).toBeInstanceOf(MandateError);
      return;
    }
    expect(names.length).toBeGreaterThan(0);
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(resolve(name)).toBeTypeOf("function");
    const { model: first, pool, fallbacks = [] } = policy;
    if (first === undefined && pool === undefined) return;
    const named = [...(first === undefined ? pools.mine : [first]), ...fallbacks];
    expect([...new Set(named)].filter((name) => names.includes(name))).toEqual(names);
  };
  type Given = typeof given extends fc.Arbitrary<infer Value> ? Value : never;
  fc.assert(fc.property(given, check));
});
