import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Desk } from "../desk.test-support.ts";

let desk: Desk;
let server: Server | undefined;

beforeEach(() => {
  desk = new Desk();
});

afterEach(() => {
  desk.clear();
  server?.closeAllConnections();
  server?.close();
  server = undefined;
});

/** So that what happens to run on this machine is not found. */
const nowhere = {
  PATH: "",
  OLLAMA_HOST: "127.0.0.1:1",
  LMSTUDIO_BASE_URL: "127.0.0.1:1",
  LLAMACPP_BASE_URL: "127.0.0.1:1",
  VLLM_BASE_URL: "127.0.0.1:1",
};

test("prices are shown with their day, and pools with the model that would run", async () => {
  const environment = { ...nowhere, OPENAI_API_KEY: "k" };
  const { out } = await desk.type(["doctor"], { environment });
  expect(out).toMatch(/✓ default +openai\//);
  expect(out).toMatch(/✓ prices +as of \d{4}-\d{2}-\d{2}/);
  expect(out).toMatch(/✓ sonnet +openai\//);
  expect(out).toMatch(/○ running +no local model server/);
  const bare = await desk.type(["doctor"], { environment: nowhere });
  expect(bare.out).toMatch(/○ sonnet +none of anthropic\/claude-sonnet/);
  expect(bare.out).toMatch(/○ google +set GOOGLE_GENERATIVE_AI_API_KEY/);
});

test("a default model without a price is reported, since a cost cap refuses it", async () => {
  const environment = { ...nowhere, OPENAI_API_KEY: "k", MANDATE_MODEL: "openai/gpt-of-tomorrow" };
  const { out } = await desk.type(["doctor"], { environment });
  expect(out).toMatch(/○ prices .*openai\/gpt-of-tomorrow is not known.*cost cap refuses it/);
  const json = await desk.type(["doctor", "--json"], { environment });
  expect(JSON.parse(json.out).models).toMatchObject({ hasPrice: false, local: [] });
});

test("a local server that is running is shown with the line that makes it answer", async () => {
  const data = [{ id: "nomic-embed-text" }, { id: "qwen3:8b" }];
  server = createServer((_, response) => response.end(JSON.stringify({ data })));
  await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const environment = { ...nowhere, LMSTUDIO_BASE_URL: address };
  const { out } = await desk.type(["doctor"], { environment });
  expect(out).toContain(`lmstudio at http://${address}/v1, 2 models`);
  expect(out).toContain("To use it: export MANDATE_MODEL=lmstudio/qwen3:8b");
  const used = { ...environment, MANDATE_MODEL: "lmstudio/qwen3:8b" };
  const again = await desk.type(["doctor"], { environment: used });
  expect(again.out).toMatch(/✓ default +lmstudio\/qwen3:8b/);
  expect(again.out).not.toContain("To use it");
});

test("a home that other users can reach is reported with the command that closes it", async () => {
  const closed = await desk.type(["doctor"], { environment: nowhere });
  expect(closed.out).not.toContain("privacy");
  chmodSync(desk.home, 0o755);
  const token = join(desk.home, "tokens", "local");
  mkdirSync(join(desk.home, "tokens"), { mode: 0o700 });
  writeFileSync(token, "secret", { mode: 0o644 });
  const { code, out } = await desk.type(["doctor"], { environment: nowhere });
  expect(code).toBe(closed.code);
  expect(out).toContain(`can reach ${desk.home} (mode 0755). Close it: chmod 700 "${desk.home}"`);
  expect(out).toContain(`chmod 600 "${token}"`);
  expect(out).not.toContain(`chmod 600 "${join(desk.home, "mandate.db")}"`);
  const { exposed } = JSON.parse(
    (await desk.type(["doctor", "--json"], { environment: nowhere })).out,
  );
  expect(exposed).toContainEqual(expect.objectContaining({ path: desk.home, mode: "0755" }));
});

test("pools of the configuration are shown, and a mistake in them is named", async () => {
  const file = desk.write("own.yaml", "models: { pools: { mine: [openai/a, anthropic/b] } }");
  const environment = { ...nowhere, ANTHROPIC_API_KEY: "k", MANDATE_CONFIG: file };
  expect((await desk.type(["doctor"], { environment })).out).toMatch(/✓ mine +anthropic\/b/);
  desk.write("own.yaml", "models:\n  defaultPool: mien");
  const { code, out } = await desk.type(["doctor"], { environment });
  expect(code).toBe(1);
  expect(out).toMatch(/own\.yaml:2: unknown pool "mien"/);
});

test("a project's file has no effect before it is trusted, and then what it may not is told", async () => {
  desk.write("mandate.yaml", "limits:\n  runTokens: 9000000\n");
  const before = await desk.type(["doctor"], { environment: nowhere });
  expect(before.out).toMatch(/✓ configuration +defaults .*\n +\S*mandate\.yaml has no effect/);
  expect(before.out).toContain(`mandate profiles trust ${join(desk.folder, "mandate.yaml")}`);
  await desk.type(["profiles", "trust", "mandate.yaml"]);
  const { out } = await desk.type(["doctor"], { environment: nowhere });
  expect(out).toMatch(
    /✓ configuration .*mandate\.yaml\n +.*:2: limits\.runTokens counts as 1000000/,
  );
});

test("a model that cannot answer is told with what to do, and is no success", async () => {
  const data = [{ id: "llama3:latest" }, { id: "mistral" }];
  server = createServer(({ url }, response) => {
    response.end(url?.startsWith("/page") ? "<html>" : JSON.stringify({ data }));
  });
  await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
  const OLLAMA_HOST = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const cases: readonly (readonly [Readonly<Record<string, string>>, RegExp])[] = [
    [{ MANDATE_MODEL: "gpt" }, /✗ configuration .*MANDATE_MODEL must be written "provider\/model"/],
    [{ MANDATE_MODEL: "anthropc/x" }, /✗ default .*unknown provider.*did you mean "anthropic"/],
    [{ MANDATE_MODEL: "anthropic/x" }, /✗ default .*has no key: set ANTHROPIC_API_KEY/],
    [
      { OLLAMA_HOST: `${OLLAMA_HOST}/page`, MANDATE_MODEL: "ollama/qwen3" },
      /✗ default .*What answers at http:\S+ lists no models.*Set OLLAMA_HOST/,
    ],
    [
      { MANDATE_MODEL: "ollama/qwen3" },
      /✗ default .*ollama does not answer at http:\S+\. Start it/,
    ],
    [
      { OLLAMA_HOST, MANDATE_MODEL: "ollama/qwen3" },
      /✗ default .*has no model "qwen3".*mistral.*ollama pull qwen3/,
    ],
    [
      { OPENAI_API_KEY: "k", OPENAI_BASE_URL: "nonsense", MANDATE_MODEL: "openai/x" },
      /✗ default .*OPENAI_BASE_URL is no URL: write it as https[\s\S]*○ openai +OPENAI_BASE_URL is no/,
    ],
    [{ OLLAMA_HOST: "http://x y" }, /○ ollama +OLLAMA_HOST is "http:\/\/x y", which is no address/],
  ];
  for (const [environment, sentence] of cases) {
    const { code, out } = await desk.type(["doctor"], {
      environment: { ...nowhere, ...environment },
    });
    expect(out).toMatch(sentence);
    expect([sentence, code]).toEqual([sentence, 1]);
    expect(out).toMatch(/\nFix: .*(configuration|default).*Then: mandate doctor\n/);
    expect(out).not.toContain("Ready");
  }
  const latest = { ...nowhere, OLLAMA_HOST, MANDATE_MODEL: "ollama/llama3" };
  const { code, out } = await desk.type(["doctor"], { environment: latest });
  expect([code, out]).toEqual([0, expect.stringMatching(/✓ default +ollama\/llama3\n/)]);
});

test("every mistake in a file has its line, and where to look it up is said", async () => {
  const file = desk.write("own.yaml", "limits:\n  runTokens: many\nfoo: 1\n");
  const { code, out } = await desk.type(["doctor"], {
    environment: { ...nowhere, MANDATE_CONFIG: file },
  });
  expect(code).toBe(1);
  expect(out).toMatch(
    /✗ configuration .*own\.yaml:2: limits\.runTokens.*\n +\S*own\.yaml:3: unknown key "foo"/,
  );
  expect(out).toContain("mandate doctor --schema mandate");
});

test("a home that cannot be written, or holds no database, is told with what to do", async () => {
  const unwritable = { ...nowhere, MANDATE_HOME: "/dev/null/home" };
  const { code, out } = await desk.type(["doctor"], { environment: unwritable });
  expect([code, out]).toEqual([
    1,
    expect.stringMatching(/✗ database .*set MANDATE_HOME to another/),
  ]);
  writeFileSync(join(desk.home, "mandate.db"), "no database at all, but some text");
  const damaged = { ...nowhere, MANDATE_HOME: desk.home };
  expect((await desk.type(["doctor"], { environment: damaged })).out).toMatch(
    /✗ database .*damaged or not a database.*Restore it from a backup/,
  );
});

test("without git it still says everything, and what that costs", async () => {
  // In a process of its own: this one knows already that there is a git.
  const binary = fileURLToPath(new URL("../../../mandate.ts", import.meta.url));
  const env = { ...nowhere, PATH: desk.folder, MANDATE_HOME: desk.home, HOME: desk.home };
  const { stdout, stderr } = spawnSync(process.execPath, [binary, "doctor"], {
    env: { ...env, OLLAMA_HOST: "", ANTHROPIC_API_KEY: "k" },
    cwd: desk.folder,
    encoding: "utf8",
  });
  expect(stderr).toBe("");
  expect(stdout).toMatch(/○ git +not found: install git 2\.38/);
  expect(stdout).toMatch(
    /○ copies +children that write are refused: The git program was not found/,
  );
  expect(stdout).toMatch(/○ ripgrep +not found: searching works without it/);
});

test("a port that is in use is reported with both remedies", async () => {
  const other = createServer().on("error", () => undefined);
  await new Promise<void>((resolve) => {
    other.once("error", () => resolve()).listen(4848, "127.0.0.1", resolve);
  });
  try {
    const { out } = await desk.type(["doctor"], { environment: nowhere });
    expect(out).toMatch(/○ port +4848 is in use.*serve --link.*serve --port 0/);
  } finally {
    other.close();
  }
});
