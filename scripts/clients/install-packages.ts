// Installs packages of others from the registry, once, into folders that are kept.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The name in `name@version`. */
export function nameOf(wanted: string): string {
  return wanted.replace(/(?<=.)@[^@]*$/, "");
}

/** Gives the node_modules of the folder, with all of these packages in these versions. */
export function installPackages(
  folder: string,
  packages: readonly string[],
  isLatest = false,
): string {
  const modules = join(folder, "node_modules");
  const isThere = packages.every((one) => {
    return installedVersion(modules, nameOf(one)) === one.slice(nameOf(one).length + 1);
  });
  if (isThere && !isLatest) return modules;
  const wanted = isLatest ? packages.map(nameOf) : packages;
  console.error(`Installing ${wanted.join(" ")} …`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), `{ "private": true, "type": "module" }`);
  const words = ["install", "--no-audit", "--no-fund", "--legacy-peer-deps", "--loglevel=error"];
  const { status, stderr } = spawnSync("npm", [...words, ...wanted], {
    ...{ cwd: folder, encoding: "utf8", timeout: 600_000 },
  });
  if (status === 0) return modules;
  throw new Error(`npm could not install ${wanted.join(" ")}:\n${stderr}`);
}

/** By the list that npm writes when an installation is complete. */
export function installedVersion(modules: string, name: string): string | undefined {
  const list = join(modules, ".package-lock.json");
  if (!existsSync(list)) return undefined;
  const { packages } = JSON.parse(readFileSync(list, "utf8")) as {
    readonly packages: Readonly<Record<string, { readonly version?: string }>>;
  };
  return packages[`node_modules/${name}`]?.version;
}

/** Those whose name begins with one of these; all, where none is named. */
export function chosen<T extends { readonly name: string }>(
  all: readonly T[],
  names: readonly string[],
): readonly T[] {
  const missing = names.find((name) => !all.some((each) => each.name.startsWith(name)));
  if (missing !== undefined) throw new Error(`Nothing is called ${missing}. See --list.`);
  return all.filter(
    (each) => names.length === 0 || names.some((name) => each.name.startsWith(name)),
  );
}
