import { existsSync, readdirSync, realpathSync } from "node:fs";
import { basename, dirname, isAbsolute, join } from "node:path";
import { isBelow } from "../../contracts/write-roots.ts";
import { programFolders, usualFolders } from "../processes/program-folders.ts";
import { homeInside } from "./sandbox.ts";

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

interface Toolchain {
  /** Below the user's home. */
  readonly folder: string;
  /** The parts of it that hold programs. Tokens and caches lie beside them and stay hidden. */
  readonly shows: readonly string[];
  /** Tells its programs where the folder is, since they find another home. */
  readonly variable?: string;
}

const toolchains: readonly Toolchain[] = [
  { folder: ".nvm", shows: ["versions"] },
  { folder: ".fnm", shows: ["node-versions", "aliases"] },
  { folder: ".local/share/fnm", shows: ["node-versions", "aliases"] },
  { folder: ".volta", shows: ["bin", "tools"], variable: "VOLTA_HOME" },
  { folder: ".asdf", shows: ["bin", "lib", "installs", "plugins", "shims"] },
  { folder: ".local/share/mise", shows: ["installs", "shims"] },
  { folder: ".pyenv", shows: ["."], variable: "PYENV_ROOT" },
  { folder: ".rbenv", shows: ["."], variable: "RBENV_ROOT" },
  { folder: ".rustup", shows: ["."], variable: "RUSTUP_HOME" },
  { folder: ".cargo", shows: ["bin"] },
  { folder: ".sdkman", shows: ["candidates"] },
  { folder: ".bun", shows: ["bin"] },
  { folder: ".deno", shows: ["bin"] },
  { folder: "go", shows: ["bin"] },
  { folder: ".local", shows: ["bin", "pipx/venvs", "share/pipx/venvs"] },
  { folder: ".local/share/uv", shows: ["python", "tools"] },
];

/**
 * The environment of one command, made anew each time: nothing that an earlier command set, and of
 * ours only what names no person's secrets. Chosen by name; a key nobody thought of stays out.
 */
export function freshEnvironment(
  ours: Readonly<Record<string, string | undefined>>,
  places: ProgramPlaces,
  { home, temporary } = { home: homeInside, temporary: "/tmp" },
): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const name of ["LANG", "LC_ALL", "LC_CTYPE", "TZ"]) {
    const value = ours[name];
    if (value !== undefined && /^[\w.@:/+-]{1,64}$/.test(value)) kept[name] = value;
  }
  return {
    ...kept,
    ...places.variables,
    // By the rule for our own helpers: a tool rule that allows "git" means the operator's git, not
    // one that an agent or a repository brought.
    PATH: pathOf(places).join(":"),
    HOME: home,
    USER: "agent",
    LOGNAME: "agent",
    SHELL: "/bin/sh",
    TERM: "dumb",
    TMPDIR: temporary,
    ...gitSettings,
  };
}

function pathOf({ path }: ProgramPlaces): readonly string[] {
  const folders = programFolders(path.join(":"));
  return folders.length === 0 ? usualFolders : folders;
}

/** A repository is trusted by where it lies, not by who owns it: owners look different inside. */
const gitSettings: Readonly<Record<string, string>> = Object.freeze({
  GIT_CONFIG_COUNT: "2",
  GIT_CONFIG_KEY_0: "safe.directory",
  GIT_CONFIG_VALUE_0: "*",
  // A folder that looks like a repository is not one until somebody says so: its settings run
  // programs.
  GIT_CONFIG_KEY_1: "safe.bareRepository",
  GIT_CONFIG_VALUE_1: "explicit",
  GIT_TERMINAL_PROMPT: "0",
});
