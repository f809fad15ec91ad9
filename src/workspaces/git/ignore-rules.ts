import { homedir } from "node:os";
import { join } from "node:path";
import { readSmallFile } from "./borrowed-objects.ts";
import { askGit } from "./run-git.ts";

const maximumBytes = 1024 * 1024;

/**
 * What the runtime itself writes is nobody's work: reports about children, and the half-written
 * files that a killed process leaves beside those it was about to replace.
 */
const own = ["**/.mandate/reports/", ".mandate-[0-9a-f]*.tmp"].join("\n");

/**
 * What the person keeps out of version control beyond the `.gitignore` files: the repository's own
 * exclude file and the personal one. They are copied as text, so that a copy leaves out the same
 * secrets and build results, without their configuration being in force.
 */
export async function readIgnoreRules(folder: string, exclude?: string): Promise<string> {
  const personal = await personalIgnoreFile(folder);
  const theirs = exclude === undefined ? "" : readSmallFile(exclude, maximumBytes);
  // Later lines win, and the repository's own file is the stronger one.
  return `${own}\n${readSmallFile(personal, maximumBytes)}\n${theirs}\n`;
}

async function personalIgnoreFile(folder: string): Promise<string> {
  const args = ["config", "--type=path", "--get", "core.excludesFile"];
  const context = { cwd: folder, withPersonalConfiguration: true, timeoutMs: 20_000 };
  const configured = await askGit(args, { ...context, answers: [1] });
  if (configured !== "") return configured;
  const configuration = process.env["XDG_CONFIG_HOME"] || join(homedir(), ".config");
  return join(configuration, "git", "ignore");
}
