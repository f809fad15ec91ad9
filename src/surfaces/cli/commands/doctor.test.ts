import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
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

test("a default model without a price is told apart, since no cap on cost would stop it", async () => {
  const environment = { ...nowhere, OPENAI_API_KEY: "k", MANDATE_MODEL: "openai/gpt-of-tomorrow" };
  const { out } = await desk.type(["doctor"], { environment });
  expect(out).toMatch(/○ prices .*openai\/gpt-of-tomorrow has none.*counts as 0/);
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

test("pools of the configuration are shown, and a mistake in them is named", async () => {
  desk.write("mandate.yaml", "models: { pools: { mine: [openai/a, anthropic/b] } }");
  const environment = { ...nowhere, ANTHROPIC_API_KEY: "k" };
  expect((await desk.type(["doctor"], { environment })).out).toMatch(/✓ mine +anthropic\/b/);
  desk.write("mandate.yaml", "models:\n  defaultPool: mien");
  const { code, out } = await desk.type(["doctor"], { environment });
  expect(code).toBe(1);
  expect(out).toMatch(/mandate\.yaml:2: unknown pool "mien"/);
});
