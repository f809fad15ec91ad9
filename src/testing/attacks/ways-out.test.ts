import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, expect, test } from "vitest";
import { loadTrustedConfig } from "../../control/load-trusted-config.test-support.ts";

const base = mkdtempSync(join(tmpdir(), "mandate-ways-out-"));
const own = join(base, "config", "mandate", "config.yaml");
const project = join(base, "repository", "mandate.yaml");
afterAll(() => rmSync(base, { recursive: true, force: true }));
beforeEach(() => {
  for (const file of [own, project]) {
    mkdirSync(join(file, ".."), { recursive: true });
    rmSync(file, { force: true });
  }
});

async function waysOut() {
  const environment = { XDG_CONFIG_HOME: join(base, "config"), MANDATE_HOME: join(base, "home") };
  const { network } = await loadTrustedConfig({ cwd: join(base, "repository"), environment });
  return network.waysOut;
}

test("attack 24: hosts that the operator lists stay open, besides the tools of servers", async () => {
  expect(await waysOut()).toEqual(["mcp__*"]);
  writeFileSync(own, "network: { allow: [docs.example.com] }");
  expect(await waysOut()).toEqual(["mcp__*", "docs.example.com"]);
  writeFileSync(own, "network: { waysOut: [], allow: [docs.example.com] }");
  expect(await waysOut()).toEqual(["docs.example.com"]);
});

test("attack 24: a repository opens nothing, by whatever hosts its configuration lists", async () => {
  writeFileSync(project, "network: { allow: [evil.example] }");
  expect(await waysOut()).toEqual(["mcp__*"]);
  writeFileSync(own, "network: { allow: [docs.example.com] }");
  expect(await waysOut()).toEqual(["mcp__*", "docs.example.com"]);
  for (const said of ["[evil.example]", '"*"', "[]"]) {
    writeFileSync(project, `network: { waysOut: ${said} }`);
    await expect(waysOut()).rejects.toThrow(/may not allow egress without asking/);
  }
});
