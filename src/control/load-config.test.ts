import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { testFolder } from "../testing/test-folder.test-support.ts";
import type { ConfigFlags } from "./config-overrides.ts";
import { loadTrustedConfig } from "./load-trusted-config.test-support.ts";

let base: string;
let project: string;

beforeEach(() => {
  base = testFolder();
  project = join(base, "project/mandate.yaml");
  mkdirSync(join(base, "project/deep/er"), { recursive: true });
});

interface Given {
  readonly project?: string | Uint8Array;
  readonly user?: string;
  readonly environment?: Record<string, string>;
  readonly flags?: ConfigFlags;
  readonly cwd?: string;
}

function load(given: Given = {}) {
  if (given.project !== undefined) writeFileSync(project, given.project);
  if (given.user !== undefined) {
    mkdirSync(join(base, "config/mandate"), { recursive: true });
    writeFileSync(join(base, "config/mandate/config.yaml"), given.user);
  }
  const environment = { XDG_CONFIG_HOME: join(base, "config"), ...given.environment };
  const cwd = given.cwd ?? dirname(project);
  return loadTrustedConfig({ cwd, environment, ...(given.flags ? { flags: given.flags } : {}) });
}

const delegationSeed = `agents:
  delegation:
    enabled: true
    maxDepth: 3
    defaultTimeout: 300000
    maxConcurrent: 5
    tokenBudget:
      default: 50000
      max: 200000
    profiles:
      directory: ~/team/profiles
    context:
      sealOnComplete: true
      brainWriteScope: delegated
`;

const spawnSeed = `tools:
  spawn:
    enabled: false
    profiles:
      researcher:
        bootstrap_files:
          - "HOUSE.md"
          - "AGENTS.md"
        system_prompt_file: "RESEARCHER.md"
        system_prompt: "Cite what you read."
        tools:
          - web_search
          - shell
          - read_file
        pool: "smart"
      coder:
        system_prompt: "Leave the tests green."
        tools:
          - shell
          - read_file
          - write_file
          - list_files
`;

test("without a file the defaults of the contracts hold", async () => {
  const config = await load();
  expect(config.agents.delegation).toEqual({
    enabled: true,
    maxDepth: 3,
    defaultTimeout: 300_000,
    maxConcurrent: 5,
    tokenBudget: { default: 50_000, max: 200_000 },
    profiles: { directory: join(base, "config/mandate/agents") },
    context: { sealOnComplete: true, brainWriteScope: "delegated" },
    onUnknown: "error",
  });
  expect(config.tools.spawn).toEqual({ enabled: null, explicit_tools: "select" });
  expect(config.limits.maxChildren).toBe(200);
  expect(config.ask.deadlineMs).toBe(900_000);
  expect(config.database.synchronous).toBe("full");
  expect(config.files).toEqual([]);
});

test("a start without a file loads neither the schema library nor YAML", () => {
  const script = `
    import { registerHooks } from "node:module";
    const seen = [];
    registerHooks({ resolve: (name, context, next) => (seen.push(name), next(name, context)) });
    const { loadConfig } = await import(${JSON.stringify(join(import.meta.dirname, "load-config.ts"))});
    await loadConfig({ cwd: "/", environment: { XDG_CONFIG_HOME: "/nonexistent" } });
    console.log(JSON.stringify(seen.filter((name) => name === "zod" || name === "yaml")));
  `;
  const args = ["--input-type=module", "--no-warnings", "-e", script];
  expect(execFileSync(process.execPath, args, { encoding: "utf8" }).trim()).toBe("[]");
});

test("the delegation block is read as it stands in its design", async () => {
  const { agents } = await load({ project: delegationSeed });
  const directory = join(homedir(), "team/profiles");
  const userDirectory = join(base, "config/mandate/agents");
  expect(agents.delegation.profiles).toEqual({ directory, isProjects: true, userDirectory });
  expect(agents.delegation.tokenBudget).toEqual({ default: 50_000, max: 200_000 });
});

test("the spawn block is read as it stands in its design, profiles included", async () => {
  const config = await load({ project: `${spawnSeed}models: { pools: { smart: a/b } }` });
  expect(config.tools.spawn.enabled).toBe(false);
  expect(config.profiles).toEqual([
    {
      name: "researcher",
      fields: {
        description: "Cite what you read.",
        prompt: "Cite what you read.",
        systemPromptFile: "RESEARCHER.md",
        bootstrapFiles: ["HOUSE.md", "AGENTS.md"],
        tools: ["web_search", "shell", "read_file"],
        model: { pool: "smart" },
      },
      origin: `${project}:5`,
      isProjects: true,
      promptFiles: expect.objectContaining({ "RESEARCHER.md": "unreadable" }),
    },
    {
      name: "coder",
      fields: {
        description: "Leave the tests green.",
        prompt: "Leave the tests green.",
        tools: ["shell", "read_file", "write_file", "list_files"],
      },
      origin: `${project}:16`,
      isProjects: true,
      promptFiles: expect.anything(),
    },
  ]);
});

test("in the spawn block alone, what is empty means the default", async () => {
  const empty = 'system_prompt_file: "", bootstrap_files: [], tools: [], pool: ""';
  const { profiles } = await load({
    project: `tools: { spawn: { profiles: { x: { ${empty} } } } }`,
  });
  expect(profiles[0]).toEqual({
    name: "x",
    fields: { description: "The x profile.", prompt: "" },
    origin: `${project}:1`,
    isProjects: true,
    promptFiles: {},
  });
});

test("profiles have a block of their own with all their keys, from the user's file and a project's", async () => {
  const { profiles } = await load({
    user: "profiles: { a: { description: d, prompt: p, tools: [], limits: { turns: 3 } } }",
    project: "profiles: { b: { pool: fast } }",
  });
  expect(profiles).toMatchObject([
    { name: "a", fields: { description: "d", prompt: "p", tools: [], limits: { turns: 3 } } },
    { name: "b", fields: { model: { pool: "fast" } }, isProjects: true },
  ]);
  expect(profiles[0]).not.toHaveProperty("isProjects");
});

test("servers are the user's to declare; a project's file may not start programs", async () => {
  const source = "mcp: { servers: { docs: { kind: stdio, command: docs-server } } }";
  const { mcp } = await load({ user: source });
  expect({ ...mcp.servers }).toEqual({ docs: { kind: "stdio", command: "docs-server" } });
  await expect(load({ project: source })).rejects.toThrow(/may not start programs in your name/);
});

test("only a flag or the person's own file takes the sandbox away, and no variable does", async () => {
  expect((await load({ flags: { unsandboxed: true } })).tools.shell.unsandboxed).toBe(true);
  const environment = { MANDATE_UNSANDBOXED: "true", null: "true" };
  expect((await load({ environment })).tools.shell.unsandboxed).toBe(false);
});

test("a project's file sets no limit of the sandbox", async () => {
  const project = "sandbox: { memoryMb: 100000, unixSockets: true }";
  await expect(load({ project })).rejects.toThrow(/sandbox/);
});

test("flags win over the environment, that over the project's file, that over the user's", async () => {
  const user =
    "agents: { delegation: { maxDepth: 4, maxConcurrent: 4 } }\nmodels: { default: u/m }";
  const config = await load({
    user,
    project: "agents: { delegation: { maxConcurrent: 3, defaultTimeout: 6 } }",
    environment: { MANDATE_TIMEOUT_MS: "7", MANDATE_RUN_TOKENS: "7", MANDATE_MODEL: "" },
    flags: { runTokens: 8 },
    cwd: join(base, "project/deep/er"),
  });
  expect(config.agents.delegation).toMatchObject({
    maxDepth: 4,
    maxConcurrent: 3,
    defaultTimeout: 7,
  });
  expect(config.limits.runTokens).toBe(8);
  expect(config.models.default).toBe("u/m");
  expect(config.files).toEqual([join(base, "config/mandate/config.yaml"), project]);
});

test("what the user set in a file of their own is the most that a found file can have", async () => {
  const user = `
agents: { delegation: { maxDepth: 1, maxConcurrent: 2, tokenBudget: { max: 9000 } } }
tools: { spawn: { enabled: false, explicit_tools: select } }
models: { allow: [a/small], prices: { a/small: { input: 1, output: 5 } } }
limits: { runTokens: 5000 }`;
  const hostile = `
agents: { delegation: { maxDepth: 50, maxConcurrent: 500, tokenBudget: { max: 900000 } } }
tools: { spawn: { enabled: true, explicit_tools: override } }
models: { allow: [a/small, a/large], prices: { a/small: { input: 0, output: 0 } } }
limits: { runTokens: 900000000 }`;
  const config = await load({ user, project: hostile });
  expect(config.agents.delegation).toMatchObject({ maxDepth: 1, maxConcurrent: 2 });
  expect(config.agents.delegation.tokenBudget.max).toBe(9000);
  expect(config.tools.spawn).toEqual({ enabled: false, explicit_tools: "select" });
  expect(config.models.allow).toEqual(["a/small"]);
  expect(config.models.prices["a/small"]).toMatchObject({ input: 1, output: 5 });
  expect(config.limits.runTokens).toBe(5000);
  const chosen = await load({ user, project: hostile, environment: { MANDATE_CONFIG: project } });
  expect(chosen.limits.runTokens).toBe(900_000_000);
});

/** A file that says one thing. */
function saying(path: string, value: unknown): string {
  return JSON.stringify(path.split(".").reduceRight((inner, key) => ({ [key]: inner }), value));
}

describe("what bounds cost and time", () => {
  const bounded = {
    "agents.delegation.maxDepth": 3,
    "agents.delegation.tokenBudget.max": 200_000,
    "limits.runTokens": 1_000_000,
    "limits.maxChildren": 200,
    "limits.joinTokens": 8_000,
    "deadlines.firstTokenMs": 120_000,
    "deadlines.stallMs": 60_000,
    "deadlines.toolMs": 120_000,
    "deadlines.idleMs": 600_000,
    "retry.maxAttempts": 5,
    "retry.initialDelayMs": 500,
    "retry.maxDelayMs": 30_000,
  };
  const free = {
    "agents.delegation.defaultTimeout": 300_000,
    "agents.delegation.maxConcurrent": 5,
    "execution.attemptTimeoutMs": 90_000,
    "execution.maxRetries": 1,
    "ask.deadlineMs": 900_000,
  };
  const at = (config: unknown, path: string): unknown =>
    path.split(".").reduce((value, key) => (value as Record<string, unknown>)[key], config);

  test.each(Object.entries(bounded))(
    "%s is no more than %i unless the user says so",
    async (path, usual) => {
      const raised = saying(path, 1_000_000_000);
      const config = await load({ project: raised });
      expect(at(config, path)).toBe(usual);
      expect(config.notTaken).toEqual([
        `${project}:1: ${path} counts as ${usual}: a project's file can lower what holds for you, ` +
          "and not raise it. Set it in your own configuration (~/.config/mandate/config.yaml).",
      ]);
      const own = await load({ user: saying(path, usual * 2), project: raised });
      expect(at(own, path)).toBe(usual * 2);
      const lowered = await load({ user: "", project: saying(path, usual - 1) });
      expect(at(lowered, path)).toBe(usual - 1);
      expect(lowered).not.toHaveProperty("notTaken");
    },
  );

  test.each(Object.entries(free))("%s is no more than the user says", async (path, usual) => {
    const raised = saying(path, usual * 2);
    expect(at(await load({ project: raised }), path)).toBe(usual * 2);
    const config = await load({ user: saying(path, usual), project: raised });
    expect(at(config, path)).toBe(usual);
    expect(config.notTaken).toHaveLength(1);
  });

  test("a default budget follows the maximum that was left of it", async () => {
    const path = "agents.delegation.tokenBudget";
    const project = saying(path, { default: 300_000, max: 500_000 });
    const budget = (config: unknown) => at(config, path);
    expect(budget(await load({ project }))).toEqual({ default: 200_000, max: 200_000 });
    const user = saying(path, { max: 90_000 });
    expect(budget(await load({ user, project }))).toEqual({ default: 90_000, max: 90_000 });
    const both = saying(path, { default: 100, max: 90_000 });
    expect(budget(await load({ user: both, project }))).toEqual({ default: 100, max: 90_000 });
  });
});

test("whom the user chose to answer stays chosen", async () => {
  const theirs = "models: { default: a/dear, pools: { fast: a/dear } }";
  const model = await load({ user: "models: { default: a/cheap }", project: theirs });
  expect(model.models).toMatchObject({ default: "a/cheap" });
  expect(model.notTaken?.[0]).toMatch(/mandate\.yaml:1: models\.default does not count: a project/);
  const pool = await load({ user: "models: { defaultPool: fast }", project: theirs });
  expect(pool.models).toMatchObject({ defaultPool: "fast" });
  expect(pool.models).not.toHaveProperty("default");
  expect(pool.models.pools["fast"]).not.toContain("a/dear");
  const free = await load({ user: "", project: theirs });
  expect(free.models).toMatchObject({ default: "a/dear" });
  const theirPool = "models: { defaultPool: mine, pools: { mine: a/dear } }";
  const kept = await load({ user: "models: { default: a/cheap }", project: theirPool });
  expect(kept.models).toMatchObject({ default: "a/cheap" });
  expect(kept.models).not.toHaveProperty("defaultPool");
});

test("which profile runs in place of an unknown one is the user's word alone", async () => {
  const file = (said: string): string => `agents: { delegation: ${said} }`;
  const theirs = file("{ onUnknown: fallback, defaultAgent: wide }");
  const strict = await load({ user: file("{ onUnknown: error }"), project: theirs });
  expect(strict.agents.delegation.onUnknown).toBe("error");
  const own = file("{ onUnknown: fallback, defaultAgent: narrow }");
  const narrow = await load({ user: own, project: theirs });
  expect(narrow.agents.delegation).toMatchObject({ defaultAgent: "narrow" });
  const silent = await load({ user: "", project: theirs });
  expect(silent.agents.delegation.onUnknown).toBe("error");
});

test("a pool is one model or several, and replaces the shipped one of its name", async () => {
  const text = "models: { defaultPool: mine, pools: { mine: a/b, smart: [c/d, e/f] } }";
  const { models } = await load({ user: text });
  expect(models.pools["mine"]).toEqual(["a/b"]);
  expect(models.pools["smart"]).toEqual(["c/d", "e/f"]);
  // Shipped profiles run on that pool, so a project adds pools of its own only.
  rmSync(join(base, "config"), { recursive: true });
  const theirs = (await load({ project: text })).models.pools;
  expect(theirs["mine"]).toEqual(["a/b"]);
  expect(theirs["smart"]?.[0]).toMatch(/^anthropic\//);
  expect(models.pools["sonnet"]?.[0]).toMatch(/^anthropic\/claude-sonnet/);
  expect(models.pools["constructor"]).toBeUndefined();
  expect(models.defaultPool).toBe("mine");
});

test("of default and default pool, the last word counts", async () => {
  const user = "models: { defaultPool: fast }";
  const environment = { MANDATE_CONFIG: project };
  const both = await load({ user, project: "models: { default: a/b }", environment });
  expect(both.models).toMatchObject({ default: "a/b" });
  expect(both.models).not.toHaveProperty("defaultPool");
  const other = await load({ user: "models: { default: a/b }", project: user, environment });
  expect(other.models).toMatchObject({ defaultPool: "fast" });
  expect(other.models).not.toHaveProperty("default");
  const named = await load({ user, project: "", environment: { MANDATE_MODEL: "c/d" } });
  expect(named.models).toMatchObject({ default: "c/d" });
  expect(named.models).not.toHaveProperty("defaultPool");
});

test("a found file that allows less does not turn the user's pools into mistakes", async () => {
  const { models } = await load({
    user: "models: { allow: [a/*, c/d], pools: { mine: [a/b, c/d] } }",
    project: "models: { allow: [a/b, a/x*, c/*, e/f], pools: { mine: [a/evil], theirs: a/b } }",
  });
  expect(models.allow).toEqual(["a/b", "a/x*"]);
  expect(models.pools["mine"]).toEqual(["a/b", "c/d"]);
  expect(models.pools["theirs"]).toEqual(["a/b"]);
});

test("a price that no sum could be made of is refused in a sentence", async () => {
  for (const input of ["1e300", "-1", ".inf", ".nan"]) {
    const project = `models: { prices: { u/m: { input: ${input}, output: 1 } } }`;
    await expect(load({ project })).rejects.toThrow(
      /models\.prices.*input|is not a finite number/s,
    );
  }
});

test("a found file can only make models dearer than shipped, or than the user says", async () => {
  const free = "{ input: 0, output: 0, cachedInput: 0, cacheWrite: 0 }";
  const hostile = [
    `anthropic/claude-opus-5: ${free}`,
    `anthropic/claude-opus-5-20260724: ${free}`,
    `openai/gpt-6-sol: ${free}`,
    "u/m: { input: 9, output: 1 }",
    `new/one: ${free}`,
  ].join(", ");
  const { models } = await load({
    user: "models: { prices: { u/m: { input: 5, output: 5 } } }",
    project: `models: { prices: { ${hostile} } }`,
  });
  const opus = { input: 5, output: 25, cachedInput: 0.5, cacheWrite: 6.25 };
  expect(models.prices["anthropic/claude-opus-5"]).toEqual(opus);
  expect(models.prices["anthropic/claude-opus-5-20260724"]).toEqual(opus);
  expect(models.prices["openai/gpt-6-sol"]).toMatchObject({
    input: 2,
    longPrompt: { over: 272_000, input: 4, output: 15 },
  });
  expect(models.prices["u/m"]).toMatchObject({ input: 9, output: 5 });
  expect(Object.keys(models.prices)).not.toContain("new/one");
  const alone = await load({ project: `models: { prices: { openai/gpt-6-sol: ${free} } }` });
  expect(alone.models.prices["openai/gpt-6-sol"]).toMatchObject({ input: 2, output: 10 });
});

test("a found file may not answer questions in a person's place", async () => {
  await expect(load({ project: "ask: { default: 'yes, go ahead' }" })).rejects.toThrow(
    /may not answer questions in your place/,
  );
});

test("a found file may add checks and switch approval on, and take neither away", async () => {
  expect((await load()).integration).toEqual({ checks: [], approval: false });
  const user = "integration: { checks: [npm test, make lint], approval: true }";
  const { integration } = await load({
    user,
    project: "integration: { checks: [make lint, ./own.sh], approval: false }",
  });
  expect(integration).toEqual({ checks: ["npm test", "make lint", "./own.sh"], approval: true });
  const none = await load({ user, project: "integration: { checks: [] }" });
  expect(none.integration).toEqual({ checks: ["npm test", "make lint"], approval: true });
  const unsaid = await load({ user, project: "integration: {}" });
  expect(unsaid.integration).toEqual({ checks: ["npm test", "make lint"], approval: true });
  const off = "integration: { approval: false }";
  const on = "integration: { checks: [a], approval: true }";
  expect((await load({ user: off, project: on })).integration).toEqual({
    checks: ["a"],
    approval: true,
  });
  const chosen = await load({ user, project: off, environment: { MANDATE_CONFIG: project } });
  expect(chosen.integration).toEqual({ checks: ["npm test", "make lint"], approval: false });
});

test("a found file lets children leave and show no more than the user lets them", async () => {
  const contextOf = async (user: string, project: string): Promise<unknown> => {
    const file = (context: string): string => `agents: { delegation: { context: ${context} } }`;
    const config = await load({ user: file(user), project: file(project) });
    return config.agents.delegation.context;
  };
  const least = { sealOnComplete: true, brainWriteScope: "none" };
  const open = "{ sealOnComplete: false, brainWriteScope: shared }";
  const closed = "{ sealOnComplete: true, brainWriteScope: none }";
  expect(await contextOf(closed, open)).toEqual(least);
  expect(await contextOf(open, closed)).toEqual(least);
  expect(await contextOf("{ brainWriteScope: delegated }", open)).toEqual({
    sealOnComplete: true,
    brainWriteScope: "delegated",
  });
  expect(await contextOf("{}", open)).toEqual({
    sealOnComplete: true,
    brainWriteScope: "delegated",
  });
});

test("a found file may not name checks where those would run without a sandbox", async () => {
  const user = "tools: { shell: { unsandboxed: true } }";
  await expect(load({ user, project: "\nintegration: { checks: [evil] }" })).rejects.toThrow(
    /mandate\.yaml:2: a project's file may not name commands .*Move `integration\.checks`/,
  );
  const harmless = await load({ user, project: "integration: { checks: [], approval: true }" });
  expect(harmless.integration).toEqual({ checks: [], approval: true });
  const own = await load({ user: `${user}\nintegration: { checks: [fine] }`, project: "" });
  expect(own.integration.checks).toEqual(["fine"]);
});

test("a project's file may not bring its own providers, unless it was chosen by name", async () => {
  const bringing = "models: { providers: { a: { kind: openai, apiKeyEnv: OPENAI_API_KEY } } }";
  await expect(load({ project: bringing })).rejects.toThrow(
    /mandate\.yaml:1: a project's file may not say where models are reached/,
  );
  const chosen = await load({ project: bringing, environment: { MANDATE_CONFIG: project } });
  expect(chosen.models.providers["a"]).toMatchObject({ apiKeyEnv: "OPENAI_API_KEY" });
});

test("a provider is taken whole, so a file cannot send another one's key elsewhere", async () => {
  const config = await load({
    environment: { MANDATE_CONFIG: project },
    user: "models: { providers: { a: { kind: openai, apiKey: secret }, b: { kind: openai } } }",
    project: "models: { providers: { a: { kind: openai, baseUrl: 'https://evil.example' } } }",
  });
  expect(config.models.providers["a"]).toEqual({ kind: "openai", baseUrl: "https://evil.example" });
  expect(config.models.providers["b"]).toEqual({ kind: "openai" });
  expect(config.models.providers["constructor"]).toBeUndefined();
});

test("a relative profile folder counts from the file that names it", async () => {
  const source = "agents: { delegation: { profiles: { directory: team/agents } } }";
  const { agents } = await load({ project: source, cwd: join(base, "project/deep") });
  expect(agents.delegation.profiles.directory).toBe(join(base, "project/team/agents"));
});

test("a default budget that nobody chose follows a lower maximum", async () => {
  const source = "agents: { delegation: { tokenBudget: { max: 100 } } }";
  const { agents } = await load({ project: source });
  expect(agents.delegation.tokenBudget).toEqual({ default: 100, max: 100 });
});

test("a file of comments says nothing", async () => {
  expect((await load({ project: "# later\n" })).agents.delegation.maxDepth).toBe(3);
});

test("a named file is read in place of the nearest one, and must exist", async () => {
  writeFileSync(join(base, "other.yaml"), "limits: { runTokens: 5 }");
  const environment = { MANDATE_CONFIG: "../other.yaml" };
  expect((await load({ environment })).limits.runTokens).toBe(5);
  await expect(load({ environment: { MANDATE_CONFIG: "gone.yaml" } })).rejects.toThrow(
    /gone\.yaml: cannot be read: no such file or folder/,
  );
});

describe("a file that is not understood stops the start, with its line", () => {
  test.each([
    [
      "agents:\n  delegation:\n    maxDetph: 3",
      /mandate\.yaml:3: unknown key "maxDetph"; did you mean "maxDepth"\?/,
    ],
    ["agent: {}", /mandate\.yaml:1: unknown key "agent"; did you mean "agents"\?/],
    ["tools: { spawn: { profiles: { x: { tool: [] } } } }", /did you mean "tools"/],
    ["limits: { runTokens: -1 }", /mandate\.yaml:1: limits\.runTokens/],
    ["limits: { runTokens: 0 }", /limits\.runTokens/],
    ["limits: { runTokens: 1.5 }", /limits\.runTokens/],
    ["limits: { runTokens: .nan }", /mandate\.yaml:1/],
    ["limits: { runTokens: .inf }", /mandate\.yaml:1/],
    ["limits: { runTokens: 1e999 }", /mandate\.yaml:1/],
    ["limits: { runTokens: '5' }", /limits\.runTokens/],
    ["limits: { runTokens: }", /limits\.runTokens/],
    ["agents: { delegation: { defaultTimeout: 2147483648 } }", /defaultTimeout/],
    ["agents: { delegation: { enabled: no } }", /delegation\.enabled/],
    ["agents: { delegation: { tokenBudget: { default: 9, max: 8 } } }", /is over max \(8\)/],
    ["tools: { spawn: { profiles: { ../x: {} } } }", /mandate\.yaml:1/],
    ["tools: { spawn: { profiles: { x: { system_prompt_file: ../x } } } }", /without \.\./],
    ["tools: { spawn: { profiles: { x: { bootstrap_files: [/etc/passwd] } } } }", /without \.\./],
    [
      "tools: { spawn: { profiles: { x: {\n pool: smrt } } } }",
      /mandate\.yaml:2: unknown pool "smrt"; did you mean "smart"\? known are .*haiku/,
    ],
    ["models: { pools: { a: [] } }", /mandate\.yaml:1: models\.pools\.a/],
    ["models: { pools: { a: [gpt] } }", /models\.pools\.a\[0\]: must be written "provider\/model"/],
    ["models: { pools: { a: gpt } }", /models\.pools\.a: must be written "provider\/model"/],
    ["models: { pools: { a: [openai/*] } }", /without \*/],
    ["models: { pools: { a: 7 } }", /models\.pools\.a/],
    ["models: { pools: { 'a b': x/y } }", /mandate\.yaml:1: models\.pools/],
    ["models: { pools: { __proto__: x/y } }", /mandate\.yaml:1/],
    [
      "models:\n  allow: [openai/*]\n  pools:\n    a: [openai/x, acme/y]",
      /mandate\.yaml:4: the pool "a" has acme\/y, which models\.allow does not list/,
    ],
    ["models:\n  defaultPool: fats", /mandate\.yaml:2: unknown pool "fats"; did you mean "fast"/],
    ["models: { defaultPool: constructor }", /unknown pool "constructor"/],
    ["models:\n  default: a/b\n  defaultPool: fast", /mandate\.yaml:3: .*keep one of them/],
    ["tools: { spawn: { profiles: { x: { tools: } } } }", /tools/],
    ["models: { default: gpt }", /provider\/model/],
    ["models: { providers: { a: { kind: telnet } } }", /kind/],
    ["models: { providers: { a: { kind: openai, baseUrl: 'file:///etc' } } }", /http or https/],
    ["models: { providers: { a: { kind: openai, apiKey: k, apiKeyEnv: K } } }", /keep one/],
    ["models: { prices: { a/b: { input: -1, output: 1 } } }", /input/],
    [
      "models: { prices: { a/b: { input: 1, output: 1, cacheRead: 1 } } }",
      /unknown key "cacheRead"/,
    ],
    ["database: { synchronous: off }", /synchronous/],
    ["integration: { check: [a] }", /mandate\.yaml:1: unknown key "check"; did you mean "checks"/],
    ["integration: { checks: npm test }", /integration\.checks/],
    ["integration: { checks: }", /integration\.checks/],
    ["integration: { checks: ['  '] }", /integration\.checks\[0\]/],
    ['integration: { checks: ["true\\0"] }', /integration\.checks\[0\]: holds what no command/],
    [`integration: { checks: [${"a, ".repeat(21)}] }`, /integration\.checks/],
    ["integration: { approval: yes }", /integration\.approval/],
    ["a: 1\na: 1", /mandate\.yaml:2/],
    ["<<: { agents: {} }", /mandate\.yaml:1/],
    ["__proto__: { agents: {} }", /mandate\.yaml:1/],
    ["models: { providers: { __proto__: { kind: openai } } }", /mandate\.yaml:1/],
    ["- agents", /mandate\.yaml:1/],
    ["agents: [", /mandate\.yaml:\d/],
    ["agents: !!js/function 'x'", /mandate\.yaml:1/],
    ["--- {}\n--- {}", /mandate\.yaml/],
    ["a: \0", /NUL/],
    [Buffer.from([0xff, 0xfe]), /UTF-8/],
    [`# ${"x".repeat(1024 * 1024)}`, /larger than 1024 KB/],
    [bomb(), /mandate\.yaml:\d/],
  ])("%j", async (source, message) => {
    await expect(load({ project: source })).rejects.toMatchObject({
      code: "config-invalid",
      message: expect.stringMatching(message),
    });
  });
});

function bomb(): string {
  const levels = Array.from({ length: 30 }, (_, level) => {
    const inner =
      level === 0
        ? "x"
        : Array(10)
            .fill(`*l${level - 1}`)
            .join(", ");
    return `l${level}: &l${level} [${inner}]`;
  });
  return levels.join("\n");
}

test.each([
  [{ MANDATE_MAX_DEPTH: "-1" }, /MANDATE_MAX_DEPTH must be a positive whole number; it is "-1"/],
  [{ MANDATE_RUN_TOKENS: "1e3" }, /MANDATE_RUN_TOKENS/],
  [{ MANDATE_RUN_TOKENS: "9007199254740993" }, /MANDATE_RUN_TOKENS/],
  [{ MANDATE_TIMEOUT_MS: "2147483648" }, /MANDATE_TIMEOUT_MS/],
  [{ MANDATE_MODEL: "gpt" }, /MANDATE_MODEL must be written "provider\/model"/],
])("the environment %j is checked as well", async (environment, message) => {
  await expect(load({ environment: environment as Record<string, string> })).rejects.toThrow(
    message,
  );
});

test("a flag that makes no sense is named", async () => {
  await expect(load({ flags: { maxDepth: Number.NaN } })).rejects.toThrow(/option maxDepth/);
});

test("a pipe or a device in place of the file is refused without waiting, a folder is none", async () => {
  mkdirSync(project);
  expect((await load()).files).toEqual([]);
  rmSync(project, { recursive: true });
  execFileSync("mkfifo", [project]);
  await expect(load()).rejects.toThrow(/not a regular file/);
  rmSync(project);
  symlinkSync("/dev/zero", project);
  await expect(load()).rejects.toThrow(/not a regular file/);
});

const reporting = (pattern: string): string =>
  `outputs:\n  report_path_pattern: ${JSON.stringify(pattern)}\n`;

test.each([
  ".orchestrix/step-<idx>-result.md",
  ".mandate/reports/<run>/<id>.md",
  "reports/<run>/<idx>/result.MD",
])("reports may be written by the pattern %s", async (pattern) => {
  const { outputs } = await load({ user: reporting(pattern) });
  expect(outputs).toEqual({ report_path_pattern: pattern });
});

test.each([
  ["reports/result.md", "must hold <idx> or <id>: otherwise all children would share one file"],
  ["reports/<run>.md", "must hold <idx> or <id>"],
  ["../<id>.md", "must be a relative path below the workspace"],
  ["a/../../<id>.md", "must be a relative path below the workspace"],
  ["/etc/<id>.md", "must be a relative path below the workspace"],
  ["~/<id>.md", "must be a relative path below the workspace"],
  ["a//<id>.md", "must be a relative path below the workspace"],
  ["a./<id>.md", "must be a relative path below the workspace"],
  ["C:\\reports\\<id>.md", "holds characters that no file name should have"],
  ["a\u0000<id>.md", "holds characters that no file name should have"],
  ["a\u202e<id>.md", "holds characters that no file name should have"],
  ["<id.md", "must hold <idx> or <id>"],
  ["<step>/<id>.md", "has the placeholder <step>; there are <run>, <idx>, <id>"],
  ["src/<id>.ts", "must end with .md: reports are Markdown"],
  [".git/<id>.md", "leads to .git, which agents cannot write"],
  [".GIT/hooks/<id>.md", "leads to .git, which agents cannot write"],
  [".mandate/agents/<id>.md", "leads to .mandate, which agents cannot write"],
  [".mandate/reports/../agents/<id>.md", "must be a relative path below the workspace"],
  [".claude/agents/<id>.md", "leads to .claude/agents, which agents cannot write"],
  ["profiles/<id>.md", "leads to profiles, which Mandate reads at its next start"],
  ["Skills/<id>/SKILL.md", "leads to Skills, which Mandate reads at its next start"],
  [`${"a".repeat(300)}<id>.md`, "must have at most 300 characters"],
])("no report is written by the pattern %j", async (pattern, why) => {
  const where = `${join(base, "config/mandate/config.yaml")}:2: outputs.report_path_pattern: ${why}`;
  await expect(load({ user: reporting(pattern) })).rejects.toThrow(where);
});

test("where the user says how reports are named, a project's file does not", async () => {
  const project = reporting("theirs/<id>.md");
  expect((await load({ project })).outputs.report_path_pattern).toBe("theirs/<id>.md");
  const both = await load({ user: reporting("mine/<id>.md"), project });
  expect(both.outputs.report_path_pattern).toBe("mine/<id>.md");
  expect(both.notTaken?.[0]).toContain('outputs.report_path_pattern counts as "mine/<id>.md"');
});
