import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
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
