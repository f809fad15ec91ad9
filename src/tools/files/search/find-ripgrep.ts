import { execFile } from "node:child_process";
import { accessSync, constants, realpathSync, statSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";

/** Older ones do not know all the options that are used. */
const oldestVersion = 12;

let known: Promise<string | null> | undefined;

/** Where this machine has ripgrep; looked for once. Null: nowhere, and searches are our own. */
export function findRipgrep(): Promise<string | null> {
  known ??= lookFor(process.env["PATH"] ?? "");
  return known;
}

async function lookFor(path: string): Promise<string | null> {
  const name = process.platform === "win32" ? "rg.exe" : "rg";
  // A relative entry would mean another program in every folder.
  for (const folder of path.split(delimiter).filter(isAbsolute)) {
    try {
      const program = realpathSync.native(join(folder, name));
      accessSync(program, constants.X_OK);
      if (statSync(program).isFile() && (await isRipgrep(program))) return program;
    } catch {
      // Not in this folder.
    }
  }
  return null;
}

/** Other programs are called rg as well. */
function isRipgrep(program: string): Promise<boolean> {
  return new Promise((resolve) => {
    const options = { env: ripgrepEnvironment(), timeout: 5000, maxBuffer: 1 << 16 };
    execFile(program, ["--no-config", "--version"], options, (error, output) => {
      const version = /^ripgrep (\d+)\./.exec(output)?.[1];
      resolve(error === null && Number(version ?? 0) >= oldestVersion);
    });
  });
}

/** It needs to know nothing about us: no folder of the user, no keys, no configuration. */
export function ripgrepEnvironment(): Record<string, string> {
  const root = process.env["SYSTEMROOT"];
  return process.platform === "win32" && root !== undefined ? { SYSTEMROOT: root } : {};
}
