import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const binary = fileURLToPath(new URL("../../mandate.ts", import.meta.url));

test("A command keeps compiled modules in a home that only its user can write", () => {
  const root = mkdtempSync(join(tmpdir(), "mandate-compiled-"));
  try {
    for (const mode of [0o700, 0o777]) {
      const home = join(root, mode.toString(8));
      mkdirSync(home);
      chmodSync(home, mode);
      const { PATH = "" } = process.env;
      const env = { PATH, HOME: root, MANDATE_HOME: home };
      execFileSync(process.execPath, [binary, "help"], { cwd: root, env });
      expect(existsSync(join(home, "compiled"))).toBe(mode === 0o700);
    }
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});

test("No other user can write a cache of compiled modules, and one that others could write is not used", () => {
  const home = mkdtempSync(join(tmpdir(), "mandate-compiled-"));
  const cache = join(home, "compiled");
  const { PATH = "" } = process.env;
  const env = { PATH, HOME: home, MANDATE_HOME: home };
  const help = `umask 000 && exec '${process.execPath}' '${binary}' help`;
  const run = () => execFileSync("/bin/sh", ["-c", help], { cwd: home, env });
  const files = () => readdirSync(cache, { recursive: true }).length;
  try {
    chmodSync(home, 0o755);
    run();
    const [version = ""] = readdirSync(cache);
    const folders = [cache, join(cache, version)];
    for (const folder of folders) expect(statSync(folder).mode & 0o077).toBe(0);
    const kept = files();
    expect(kept).toBeGreaterThan(10);
    for (const planted of folders) {
      rmSync(join(cache, version), { recursive: true });
      mkdirSync(join(cache, version), { mode: 0o700 });
      chmodSync(planted, 0o775);
      run();
      expect(files()).toBe(1);
      chmodSync(planted, 0o700);
    }
    run();
    expect(files()).toBe(kept);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
});
