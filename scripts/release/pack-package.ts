import { join } from "node:path";
import { tail } from "./outcome.ts";
import { runProgram } from "./run-program.ts";

export interface PackedFile {
  readonly path: string;
  readonly size: number;
}

export interface PackedPackage {
  readonly tarball: string;
  readonly size: number;
  readonly unpackedSize: number;
  readonly files: readonly PackedFile[];
}

/** Builds the package as `npm publish` would, into a folder. */
export async function packPackage(root: string, folder: string): Promise<PackedPackage> {
  const built = await runProgram("node", ["scripts/build.mjs"], { cwd: root });
  if (built.code !== 0)
    throw new Error(`The build failed:\n    ${tail(`${built.stdout}${built.stderr}`)}`);
  const words = ["pack", "--json", "--ignore-scripts", "--pack-destination", folder];
  const packed = await runProgram("npm", words, { cwd: root });
  if (packed.code !== 0) throw new Error(`npm pack failed:\n    ${tail(packed.stderr)}`);
  const said: unknown = JSON.parse(packed.stdout);
  // A list in the npm of Node 24; the next one names each package.
  const [about] = Object.values(said as Record<string, PackedPackage & { filename: string }>);
  if (about === undefined) throw new Error("npm pack said nothing about the package.");
  return { ...about, tarball: join(folder, about.filename) };
}
