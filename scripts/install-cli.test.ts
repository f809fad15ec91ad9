import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { testFolder } from "../src/testing/test-folder.test-support.ts";

let clone: string;
let home: string;

beforeEach(() => {
  clone = join(testFolder(), "it's a clone");
  home = testFolder();
  for (const folder of ["scripts", "node_modules/.bin"]) {
    mkdirSync(join(clone, folder), { recursive: true });
  }
  cpSync(join(import.meta.dirname, "install-cli.mjs"), join(clone, "scripts/install-cli.mjs"));
  writeProgram(join(clone, "node_modules/.bin/node"), 'printf "%s\\n" "$@"');
});

function writeProgram(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `#!/bin/sh\n${text}\n`);
  chmodSync(file, 0o755);
}

function run(words: readonly string[], folders: readonly string[], npmPrefix?: string) {
  const script = join(clone, "scripts/install-cli.mjs");
  const { status, stdout } = spawnSync(process.execPath, [script, ...words], {
    encoding: "utf8",
    env: { HOME: home, PATH: folders.join(delimiter), npm_config_global_prefix: npmPrefix },
  });
  return { status, stdout };
}

test("it puts a program on the PATH that runs the clone's build on its Node, and takes it off", () => {
  const bin = join(home, ".local/bin");
  const file = join(bin, "mandate");
  expect(run([], [bin])).toMatchObject({ status: 0, stdout: expect.stringContaining(file) });
  const called = spawnSync(file, ["run", "two words"], { encoding: "utf8" });
  expect(called.stdout).toBe(`${join(clone, "dist/mandate.js")}\nrun\ntwo words\n`);
  expect(run([], [bin]).status).toBe(0);
  expect(run(["--remove"], [bin]).stdout).toBe(`Removed ${file}.\n`);
  expect(existsSync(file)).toBe(false);
});

test("another mandate is left alone, and one that comes first is named", () => {
  const [bin, first] = [join(home, ".local/bin"), join(home, "first")];
  writeProgram(join(bin, "mandate"), "echo other");
  expect(run([], [bin])).toMatchObject({
    status: 1,
    stdout: expect.stringContaining("is another program, and stays as it is"),
  });
  expect(run(["--remove"], [bin]).stdout).toContain("There is no mandate");
  expect(existsSync(join(bin, "mandate"))).toBe(true);
  writeProgram(join(first, "mandate"), "echo other");
  expect(run([], [first, join(home, "bin")]).stdout).toContain(
    `Another mandate comes first on your PATH: ${join(first, "mandate")}`,
  );
});

test("npm's own folder is used where none below the home is on the PATH", () => {
  const prefix = testFolder();
  expect(run([], [join(prefix, "bin")], prefix).status).toBe(0);
  expect(existsSync(join(prefix, "bin/mandate"))).toBe(true);
});

test("without a folder of the person's on the PATH it says the line that adds one", () => {
  const { status, stdout } = run([], []);
  expect(status).toBe(0);
  expect(stdout).toContain(`export PATH="${join(home, ".local/bin")}:$PATH"`);
});
