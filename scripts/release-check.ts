/**
 * Everything that has to hold before the package is published, on what would be published:
 * `npm run release:check [-- --out FOLDER] [--only contents,types,…]`. Needs a package registry.
 */
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { checkCommandLine } from "./release/check-command-line.ts";
import { checkConsumers } from "./release/check-consumers.ts";
import { checkContents } from "./release/check-contents.ts";
import { checkExports } from "./release/check-exports.ts";
import { checkLicences } from "./release/check-licences.ts";
import { checkNodeVersions } from "./release/check-node-versions.ts";
import { checkVulnerabilities } from "./release/check-vulnerabilities.ts";
import { addNodeTypes, installPackage } from "./release/install-package.ts";
import { type Outcome, outcomeOf } from "./release/outcome.ts";
import { packPackage } from "./release/pack-package.ts";
import { productionTree } from "./release/production-tree.ts";
import { installedPackages, weighPackage } from "./release/weigh-package.ts";
import { writeSbom } from "./release/write-sbom.ts";

const root = dirname(import.meta.dirname);

async function main(): Promise<number> {
  const { values } = parseArgs({ options: { out: { type: "string" }, only: { type: "string" } } });
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "mandate-release-")));
  const out = values.out === undefined ? folder : resolve(values.out);
  mkdirSync(out, { recursive: true });
  try {
    const packed = await packPackage(root, out);
    const project = await installPackage(root, packed.tarball, join(folder, "project"));
    const slim = await installPackage(root, packed.tarball, join(folder, "slim"), [
      "--omit=optional",
    ]);
    const inPackage = (path: string): string =>
      readFileSync(join(project, "node_modules", "mandate", path), "utf8");
    const checks: Readonly<Record<string, () => Outcome | Promise<Outcome>>> = {
      contents: () => checkContents(packed, inPackage, root),
      licences: () => checkLicences(productionTree(root)),
      sbom: () => writeSbom(project, installedPackages(project), join(out, "sbom.cdx.json")),
      exports: () => checkExports(root, packed.tarball),
      weight: () => weighPackage(project, slim),
      "command line": () => checkCommandLine(root, project),
      consumers: async () => {
        await addNodeTypes(root, project);
        return checkConsumers(root, project);
      },
      nodes: () => checkNodeVersions(folder, project),
      vulnerabilities: () => checkVulnerabilities(root),
    };
    return await runChecks(checks, values.only?.split(","));
  } catch (error) {
    console.log(`FAILED  pack and install\n  - ${sentenceOf(error)}`);
    return 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** One after the other: what is measured must not wait for what is installed. */
async function runChecks(
  checks: Readonly<Record<string, () => Outcome | Promise<Outcome>>>,
  only: readonly string[] | undefined,
): Promise<number> {
  let failed = 0;
  for (const [name, check] of Object.entries(checks)) {
    if (only !== undefined && !only.includes(name)) continue;
    const { problems, notes } = await attempt(check);
    if (problems.length > 0) failed++;
    console.log(`${problems.length === 0 ? "ok    " : "FAILED"}  ${name}`);
    for (const line of [...notes, ...problems]) console.log(`  - ${line}`);
  }
  if (failed > 0) console.log("release: not yet; fix the problems above first.");
  return failed === 0 ? 0 : 1;
}

async function attempt(check: () => Outcome | Promise<Outcome>): Promise<Outcome> {
  try {
    return await check();
  } catch (error) {
    return outcomeOf([sentenceOf(error)]);
  }
}

function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

process.exitCode = await main();
