import { findProgram, type Program } from "../../../workspaces/processes/find-program.ts";
import { helperEnvironment } from "../../../workspaces/processes/program-environment.ts";
import { runToEnd } from "../../../workspaces/processes/start-program.ts";

/** Older ones do not know all the options that are used. */
const oldestVersion = 12;

const known = new Map<string, boolean>();

/** Where this machine has ripgrep; null: nowhere, and searches are our own. */
export async function findRipgrep(): Promise<Program | null> {
  const finding = findProgram("rg");
  if (!finding.isFound) return null;
  const { program } = finding;
  const isUsable = known.get(program.file) ?? isRipgrep(program);
  known.set(program.file, isUsable);
  return isUsable ? program : null;
}

/** Other programs are called rg as well. */
function isRipgrep(program: Program): boolean {
  const args = ["--no-config", "--version"];
  const environment = helperEnvironment();
  const { code, stdout } = runToEnd({ program, args, environment }, { timeoutMs: 5000 });
  const version = /^ripgrep (\d+)\./.exec(stdout)?.[1];
  return code === 0 && Number(version ?? 0) >= oldestVersion;
}
