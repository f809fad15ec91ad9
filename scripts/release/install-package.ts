import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tail } from "./outcome.ts";
import { runProgram } from "./run-program.ts";

/** An empty project somewhere else, with nothing in it but the package from its tarball. */
export async function installPackage(
  root: string,
  tarball: string,
  project: string,
  options: readonly string[] = [],
): Promise<string> {
  mkdirSync(project, { recursive: true });
  // A bill of materials is refused for a project without a name and a version.
  const about = { name: "consumer", version: "0.0.0", private: true };
  writeFileSync(join(project, "package.json"), `${JSON.stringify(about)}\n`);
  // How old a release has to be counts for whoever tries the package as well.
  copyFileSync(join(root, ".npmrc"), join(project, ".npmrc"));
  const words = ["install", "--no-audit", "--no-fund", "--loglevel=error", ...options, tarball];
  const { code, stderr } = await runProgram("npm", words, { cwd: project });
  if (code !== 0) throw new Error(`npm install of the tarball failed:\n    ${tail(stderr)}`);
  return project;
}

/** What a consumer brings who writes TypeScript: nothing of it is ours to install. */
export async function addNodeTypes(root: string, project: string): Promise<void> {
  const { devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const wanted = `@types/node@${devDependencies["@types/node"]}`;
  const words = ["install", "--no-audit", "--no-fund", "--loglevel=error", "--save-dev", wanted];
  const { code, stderr } = await runProgram("npm", words, { cwd: project });
  if (code !== 0) throw new Error(`npm install ${wanted} failed:\n    ${tail(stderr)}`);
}
