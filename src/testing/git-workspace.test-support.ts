/** For tests: a real repository in a folder, with the user's identity left out of it. */
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

export function git(folder: string, ...args: readonly string[]): string {
  const identity = ["-c", "user.name=Test", "-c", "user.email=test@example.com"];
  const { status, stdout, stderr } = spawnSync("git", ["-C", folder, ...identity, ...args], {
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`git ${args.join(" ")} failed: ${stderr}`);
  return stdout.trimEnd();
}

function writeFiles(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}

/** A repository with one commit that holds these files. */
export function initRepository(folder: string, files: Readonly<Record<string, string>>): void {
  git(folder, "init", "--quiet", "--initial-branch=main");
  writeFiles(folder, files);
  git(folder, "add", "--all");
  git(folder, "commit", "--quiet", "--message=First");
}
