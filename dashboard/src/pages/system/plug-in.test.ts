import { describe, expect, it } from "vitest";
import {
  isEnforced,
  isScriptedApplication,
  localCommand,
  localServers,
  providerAdvice,
  type SystemReport,
  serverName,
  usableProviders,
} from "./plug-in.ts";

describe("how to plug in a model", () => {
  it("names the variable to set, and never takes a sentence for one", () => {
    const advice = (set?: string) =>
      providerAdvice({ provider: "x", isUsable: false, ...(set && { set }) });
    expect(advice("OPENAI_API_KEY").command).toBe("export OPENAI_API_KEY=…");
    expect(advice("OLLAMA_BASE_URL").command).toBe(
      "export OLLAMA_BASE_URL=http://127.0.0.1:PORT/v1",
    );
    expect(advice("Say a key; rm -rf /")).toEqual({
      command: null,
      sentence: "Say a key; rm -rf /",
    });
    expect(advice()).toEqual({ command: null, sentence: "Not configured" });
    expect(providerAdvice({ provider: "x", isUsable: true }).sentence).toBe("Configured");
  });

  it("chooses a model of a local server that answers, and no embedding", () => {
    const server = { provider: "ollama", models: ["nomic-embed-text", "qwen3:8b"] };
    expect(localCommand(server, "openai/gpt")).toBe("export MANDATE_MODEL=ollama/qwen3:8b");
    expect(localCommand(server, "ollama/llama")).toBeUndefined();
    const hostile = { provider: "ollama", models: ["$(id)", "a;b", "x\ny"] };
    expect(localCommand(hostile, "openai/gpt")).toBeUndefined();
  });

  it("takes a report for what it is", () => {
    expect(localServers([{ provider: "ollama", models: ["a", 1] }, { provider: 3 }, {}])).toEqual([
      { provider: "ollama", models: ["a"] },
    ]);
  });
});

it("says what is enforced by the server's own words", () => {
  expect(isEnforced("shell", "in a sandbox (bwrap): …")).toBe(true);
  expect(isEnforced("shell", "not offered: there is no sandbox")).toBe(false);
  expect(isEnforced("shell", "WITHOUT a sandbox, as configured")).toBe(false);
  expect(isEnforced("copies", "children that write are refused: no git")).toBe(false);
  expect(isEnforced("files", "always")).toBe(true);
});

it("counts a provider as set up by its key, and a local server only when it answers", () => {
  const providers = [
    { provider: "anthropic", isUsable: false, set: "ANTHROPIC_API_KEY" },
    { provider: "openai", isUsable: true },
    { provider: "lmstudio", isUsable: true },
  ];
  expect(usableProviders({ providers } as unknown as SystemReport["models"])).toEqual(["openai"]);
  expect([serverName("lmstudio"), serverName("constructor")]).toEqual(["LM Studio", "constructor"]);
});

it("knows a run that was begun on a playbook by the name of its program", () => {
  expect(
    ["demo", "playbook:/x.yaml", "mandate", "demonstrator"].map(isScriptedApplication),
  ).toEqual([true, true, false, false]);
});
