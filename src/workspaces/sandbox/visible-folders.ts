import { existsSync, readdirSync, realpathSync } from "node:fs";
import { basename, dirname, isAbsolute, join } from "node:path";
import { isBelow } from "../../contracts/write-roots.ts";
import { type Toolchain, toolchains } from "./toolchains.ts";

/** Programs, libraries and what is installed beside them; never data of people or services. */
export const systemFolders: readonly string[] = [
  ...["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt"],
  ...["/nix/store", "/run/current-system", "/home/linuxbrew/.linuxbrew"],
];

/** By name: /etc also holds password hashes, host keys and tokens, and root could read them. */
const namedSettings: readonly string[] = [
  ...["alternatives", "ca-certificates", "debian_version", "fonts", "group", "host.conf", "hosts"],
  ...["ld.so.cache", "ld.so.conf", "ld.so.conf.d", "locale.alias", "locale.conf", "localtime"],
  ...["magic", "mime.types", "nsswitch.conf", "os-release", "passwd", "perl", "pki/ca-trust"],
  ...["pki/tls/certs", "protocols", "resolv.conf", "services", "ssl/certs", "ssl/openssl.cnf"],
  ...["terminfo", "timezone", "xdg"],
];

/** Settings of the machine that programs read. Some have a version in their name. */
export function systemSettings(): readonly string[] {
  const versioned = readdirSync("/etc").filter((name) => /^(?:java|python)[\w.-]*$/.test(name));
  return [...namedSettings, ...versioned].map((name) => `/etc/${name}`);
}

export interface ProgramPlaces {
  /** Shown read-only, besides what every machine has. */
  readonly folders: readonly string[];
  /** What is left of PATH. */
  readonly path: readonly string[];
  /** Where version managers look for what they manage, now that the home is another one. */
  readonly variables: Readonly<Record<string, string>>;
}

/**
 * What has to be visible for the programs on the operator's PATH to work: their folders, and of a
 * home only the parts of known version managers that hold programs. A program elsewhere that
 * needs its neighbours has to be shown explicitly.
 */
export function findProgramPlaces(
  environment: Readonly<Record<string, string | undefined>>,
): ProgramPlaces {
  const home = environment["HOME"];
  const folders = new Set<string>();
  const variables: Record<string, string> = {};
  if (home !== undefined && isAbsolute(home)) {
    for (const toolchain of toolchains) showToolchain(home, toolchain, folders, variables);
  }
  const path: string[] = [];
  for (const entry of (environment["PATH"] ?? "").split(":")) {
    // An empty or relative one means "wherever the command happens to run": the workspace.
    if (!isAbsolute(entry) || path.includes(entry) || !existsSync(entry)) continue;
    // A folder around the whole home is not one of programs.
    if (home !== undefined && isBelow(home, realpathSync(entry))) continue;
    path.push(entry);
    if (isShown(entry, folders)) continue;
    const isOfPackages = basename(entry) === ".bin" && basename(dirname(entry)) === "node_modules";
    folders.add(isOfPackages ? dirname(entry) : entry);
  }
  return { folders: [...folders], path, variables };
}

function showToolchain(
  home: string,
  { folder, shows, variable }: Toolchain,
  folders: Set<string>,
  variables: Record<string, string>,
): void {
  const place = join(home, folder);
  if (!existsSync(place)) return;
  for (const part of shows) {
    if (existsSync(join(place, part))) folders.add(join(place, part));
  }
  if (variable !== undefined) variables[variable] = place;
}

function isShown(entry: string, folders: ReadonlySet<string>): boolean {
  const shown = [...systemFolders, ...folders];
  return [entry, realpathSync(entry)].every((place) =>
    shown.some((folder) => isBelow(place, folder)),
  );
}
