import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
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

/** Ours as it would be published, and the peers' by their own program, from the same registry. */
export async function measureInstallSizes(root: string, peers: string): Promise<InstallSize[]> {
  const folder = mkdtempSync(join(tmpdir(), "mandate-install-"));
  try {
    return [await ourSize(root, folder), ...peersSizes(peers, folder)];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function ourSize(root: string, folder: string): Promise<InstallSize> {
  const { tarball } = await packPackage(root, folder);
  const project = await installPackage(root, tarball, join(folder, "project"));
  const megabytes = sizeOf(join(project, "node_modules")) / 1e6;
  return { subject: "mandate", packages: installedPackages(project), megabytes };
}

function peersSizes(peers: string, folder: string): InstallSize[] {
  const file = join(folder, "sizes.json");
  const words = [join(peers, "install-size.mjs"), "--json", file];
  const { status } = spawnSync(process.execPath, words, { stdio: ["ignore", "ignore", "inherit"] });
  if (status !== 0) throw new Error("The sizes of the peers could not be measured.");
  const sizes: Record<string, { packages?: number; mb?: number }> = JSON.parse(
    readFileSync(file, "utf8"),
  );
  return Object.entries(sizes).flatMap(([name, { packages, mb }]) => {
    const isCore = name.endsWith(" (core)") && !name.startsWith("floor");
    if (!isCore || packages === undefined || mb === undefined) return [];
    return [{ subject: name.replace(" (core)", ""), packages, megabytes: mb }];
  });
}
