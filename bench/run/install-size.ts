import { spawnSync } from "node:child_process";
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { installPackage } from "../../scripts/release/install-package.ts";
import { packPackage } from "../../scripts/release/pack-package.ts";
import { installedPackages, sizeOf } from "../../scripts/release/weigh-package.ts";

/** What a fresh project holds after it installed one subject, without optional peers. */
export interface InstallSize {
  readonly subject: string;
  readonly packages: number;
  readonly megabytes: number;
}

/** Ours as a library, as it would be published, and the core of each peer, from the same registry. */
export async function measureInstallSizes(root: string, peers: string): Promise<InstallSize[]> {
  const folder = mkdtempSync(join(tmpdir(), "mandate-install-"));
  try {
    const { tarball } = await packPackage(root, folder);
    const ours = await installPackage(root, tarball, join(folder, "mandate"), ["--omit=optional"]);
    const sizes = [sizeIn("mandate", ours)];
    for (const file of globSync("subjects/*/package.json", { cwd: peers })) {
      const manifest = JSON.parse(readFileSync(join(peers, file), "utf8")) as Manifest;
      if (manifest.bench.core.length > 0) sizes.push(sizeOfPeer(manifest, folder));
    }
    return sizes;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Manifest {
  /** `core`: what somebody installs who uses it, without what only this benchmark needs. */
  readonly bench: { readonly id: string; readonly core: readonly string[] };
  readonly dependencies: Readonly<Record<string, string>>;
}

function sizeOfPeer({ bench: { core, id }, dependencies }: Manifest, folder: string): InstallSize {
  const project = join(folder, id);
  mkdirSync(project);
  const wanted = Object.fromEntries(core.map((name) => [name, dependencies[name]]));
  const about = { private: true, dependencies: wanted };
  writeFileSync(join(project, "package.json"), JSON.stringify(about));
  const words = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--omit=dev"];
  const { status, stderr } = spawnSync("npm", words, { cwd: project, encoding: "utf8" });
  if (status !== 0) throw new Error(`${id} could not be installed:\n${stderr.slice(-400)}`);
  return sizeIn(id, project);
}

function sizeIn(subject: string, project: string): InstallSize {
  const megabytes = sizeOf(join(project, "node_modules")) / 1e6;
  return { subject, packages: installedPackages(project).length, megabytes };
}
