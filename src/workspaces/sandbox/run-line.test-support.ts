import { spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CommandLine } from "./sandbox.ts";

/** Runs a command line to its end, with what it reads from descriptor 4. */
export function runLine({ program, args, filter }: CommandLine) {
  const folder = mkdtempSync(join(tmpdir(), "mandate-line-"));
  const file = join(folder, "filter");
  writeFileSync(file, filter ?? "");
  const descriptor = openSync(file, "r");
  try {
    const { stdout, stderr, status } = spawnSync(program.file, args, {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe", "pipe", descriptor],
    });
    return { stdout, stderr, status };
  } finally {
    closeSync(descriptor);
    rmSync(folder, { recursive: true, force: true });
  }
}
