import { expect, test } from "vitest";
import type { ModelsConfig } from "./model-registry.ts";
import { resolveProvider } from "./resolve-provider.ts";

const key = {
  ANTHROPIC_API_KEY: "real-key",
  OPENAI_API_KEY: "k",
  GOOGLE_GENERATIVE_AI_API_KEY: "g",
};

function baseUrl(provider: string, environment: Record<string, string>): string {
  return resolveProvider(provider, { ...key, ...environment }, {}).baseUrl;
}

test.each([
  ["", "http://127.0.0.1:11434/v1"],
  ["gpu", "http://gpu:11434/v1"],
  ["0.0.0.0", "http://127.0.0.1:11434/v1"],
  [":9000", "http://127.0.0.1:9000/v1"],
  ["http://gpu:8080/", "http://gpu:8080/v1"],
  ["https://ollama.example/api/v1", "https://ollama.example/api/v1"],
])("OLLAMA_HOST %j leads to %s", (host, expected) => {
  expect(baseUrl("ollama", { OLLAMA_HOST: host })).toBe(expected);
});

test("addresses of the environment follow each vendor's habit", () => {
  const proxy = "http://localhost:4000";
  expect(baseUrl("anthropic", { ANTHROPIC_BASE_URL: proxy })).toBe(`${proxy}/v1`);
  expect(baseUrl("anthropic", { ANTHROPIC_BASE_URL: `${proxy}/v1/` })).toBe(`${proxy}/v1`);
  expect(baseUrl("openai", { OPENAI_BASE_URL: `${proxy}/v1` })).toBe(`${proxy}/v1`);
  expect(baseUrl("google", { GOOGLE_GENERATIVE_AI_BASE_URL: proxy })).toBe(`${proxy}/v1beta`);
  expect(baseUrl("google", { GOOGLE_GENERATIVE_AI_BASE_URL: `${proxy}/v1/` })).toBe(`${proxy}/v1`);
});

test.each([
  ["lmstudio", "LMSTUDIO_BASE_URL", 1234],
  ["llamacpp", "LLAMACPP_BASE_URL", 8080],
  ["vllm", "VLLM_BASE_URL", 8000],
])("%s needs no key, and takes addresses as Ollama does", (provider, variable, port) => {
  expect(resolveProvider(provider, {}, {})).toMatchObject({
    baseUrl: `http://127.0.0.1:${port}/v1`,
    apiKey: undefined,
  });
  expect(baseUrl(provider, { [variable]: "gpu" })).toBe(`http://gpu:${port}/v1`);
  expect(baseUrl(provider, { [variable]: "http://gpu:9/v1" })).toBe("http://gpu:9/v1");
});

test("an address that is none is refused", () => {
  const refusal = expect.objectContaining({ code: "model-not-configured" });
  expect(() => baseUrl("ollama", { OLLAMA_HOST: "http://" })).toThrow(refusal);
});

test("a file that moves a provider does not get the key of the real one", () => {
  const moved: ModelsConfig = {
    providers: { anthropic: { kind: "anthropic", baseUrl: "http://elsewhere" } },
  };
  const refusal = { code: "model-not-configured", message: expect.stringContaining("apiKeyEnv") };
  const resolve = () => resolveProvider("anthropic", key, moved);
  expect(resolve).toThrow(expect.objectContaining(refusal));
});

test("a custom provider takes its key from the variable it names, or needs none", () => {
  const config: ModelsConfig = {
    providers: {
      gateway: { kind: "openai-compatible", baseUrl: "http://gw/v1", apiKeyEnv: "GATEWAY_KEY" },
      local: { kind: "openai-compatible", baseUrl: "http://local/v1" },
      nowhere: { kind: "openai-compatible" },
    },
  };
  const gateway = resolveProvider("gateway", { GATEWAY_KEY: "secret" }, config);
  expect(gateway).toMatchObject({ apiKey: "secret", baseUrl: "http://gw/v1" });
  expect(resolveProvider("local", key, config).apiKey).toBeUndefined();
  const named = (text: string) =>
    expect.objectContaining({ message: expect.stringContaining(text) });
  expect(() => resolveProvider("gateway", {}, config)).toThrow(named("GATEWAY_KEY"));
  expect(() => resolveProvider("nowhere", {}, config)).toThrow(named("baseUrl"));
});
