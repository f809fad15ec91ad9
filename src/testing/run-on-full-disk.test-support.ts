import { spawnSync } from "node:child_process";

/** Runs a module where no file can get longer than a few thousand bytes: a write comes up short. */
export function runOnFullDisk(script: string, ...args: readonly string[]): string {
  const limited = 'ulimit -f 8; exec "$@"';
  const node = [process.execPath, "--input-type=module", "-e", script, ...args];
  const { NODE_COMPILE_CACHE: _, ...env } = process.env;
  const { status, stderr, stdout } = spawnSync("sh", ["-c", limited, "sh", ...node], {
    encoding: "utf8",
    env,
  });
  if (status !== 0) throw new Error(stderr);
  return stdout.trim();
}
