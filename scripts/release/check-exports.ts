import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Outcome } from "./outcome.ts";
import { outcomeOf, tail } from "./outcome.ts";
import { runProgram } from "./run-program.ts";

const linters: readonly (readonly [string, (tarball: string) => readonly string[]])[] = [
  ["publint", (tarball) => ["--strict", tarball]],
  // There is no CommonJS here: whoever requires gets the same modules, by Node's own means.
  ["attw", (tarball) => ["--profile", "esm-only", "--no-emoji", tarball]],
];

/** What two linters of packages say of the manifest, the entry points and their types. */
export async function checkExports(root: string, tarball: string): Promise<Outcome> {
  const problems: string[] = [];
  for (const [name, words] of linters) {
    const program = join(root, "node_modules", ".bin", name);
    if (!existsSync(program)) {
      problems.push(`${name} is not installed: run npm install.`);
      continue;
    }
    const { code, stdout, stderr } = await runProgram(program, words(tarball), { cwd: root });
    if (code !== 0) problems.push(`${name} says:\n    ${tail(`${stdout}${stderr}`, 40)}`);
  }
  return outcomeOf(problems, linters.map(([name]) => name).join(" and "));
}
