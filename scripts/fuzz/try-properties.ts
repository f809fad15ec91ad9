import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..", "..");
const hourMs = 3_600_000;

/** Runs every test that says how many cases it tries, with all of them; gives the exit code. */
export async function tryProperties(): Promise<number> {
  const files = globSync("{src,scripts,dashboard}/**/*.test.ts", { cwd: root }).filter((file) =>
    /\bcases\(/.test(readFileSync(join(root, file), "utf8")),
  );
  const child = spawn("vitest", ["run", `--testTimeout=${hourMs}`, ...files], {
    cwd: root,
    env: { ...process.env, MANDATE_CASES: "many" },
    stdio: "inherit",
  });
  const [code] = await once(child, "exit");
  return Number(code ?? 1);
}
