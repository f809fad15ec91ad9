import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { testFolder } from "../../src/testing/test-folder.test-support.ts";
import { openLocalRegistry } from "./local-registry.test-support.ts";
import { packPackage } from "./pack-package.ts";
import { type Ended, runProgram } from "./run-program.ts";

const root = dirname(dirname(import.meta.dirname));

test("what is published runs with npx from an empty folder, and by name after a global install", async () => {
  const folder = testFolder();
  const [home, empty] = [join(folder, "home"), join(folder, "empty")];
  for (const each of [home, empty]) mkdirSync(each);
  await using registry = await openLocalRegistry(root);
  const host = registry.url.slice("http:".length);
  writeFileSync(join(home, ".npmrc"), `registry=${registry.url}\n${host}/:_authToken=test\n`);
  const environment = { HOME: home, MANDATE_HOME: join(home, "data"), PATH: process.env["PATH"] };
  const run = async (program: string, ...words: readonly string[]): Promise<Ended> => {
    const ended = await runProgram(program, words, { cwd: empty, environment });
    expect(ended.code, `${program} ${words.join(" ")}: ${ended.stderr}`).toBe(0);
    return ended;
  };

  const { tarball } = await packPackage(root, folder);
  await run("npm", "publish", tarball);
  const demo = await run("npx", "--yes", "mandate", "demo", "--speed", "50");
  expect(demo.stdout).toMatch(/✓ verified: \d+ events and 5 delegations/);
  expect(demo.stdout).toContain("npx mandate doctor");

  const quietly = ["--no-audit", "--no-fund"];
  const prefix = join(folder, "prefix");
  await run("npm", "install", "--global", ...quietly, "--prefix", prefix, "mandate");
  const installed = join(prefix, "lib/node_modules/mandate");
  expect(existsSync(join(installed, "node_modules/ink/package.json"))).toBe(true);
  const { stderr } = await run(join(prefix, "bin/mandate"), "ls");
  expect(stderr).toContain("Start one: mandate run");

  writeFileSync(join(empty, "package.json"), "{}");
  await run("npm", "install", ...quietly, "--omit=optional", "mandate");
  expect(existsSync(join(empty, "node_modules/zod/package.json"))).toBe(true);
  expect(existsSync(join(empty, "node_modules/ink"))).toBe(false);
}, 180_000);
