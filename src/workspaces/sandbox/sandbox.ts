import { existsSync, readdirSync, realpathSync } from "node:fs";
import { basename, dirname, isAbsolute, join } from "node:path";
import { isBelow } from "../../contracts/write-roots.ts";
import { type Program, programFolders, usualFolders } from "../processes/find-program.ts";

/**
 * What one command may see and touch. Everything else, except what every program needs to run, does
 * not exist for it.
 */
export interface SandboxPolicy {
  /** Absolute, links resolved. Readable, except for forbidden places. */
  readonly root: string;
  /** Absolute, at or below the root; ignored unless `allowWrites`. */
  readonly writeRoots: readonly string[];
  readonly allowWrites: boolean;
  /** Paths that are neither readable nor writable: MANDATE_HOME and the user's configuration. */
  readonly forbidden: readonly string[];
  /** Readable if visible, but not writable: what the next start obeys. */
  readonly guarded: readonly string[];
  /** Sockets of outside processes in the root; shown as files that cannot be opened. */
  readonly sockets?: readonly string[];
  /** Readable beside the root: folders from which a working copy borrows git objects. */
  readonly visible: readonly string[];
  /**
   * Whether the root's `.git` may be written, except for what makes git run programs. Only for a
   * working copy that no other git obeys; otherwise all of it is read-only.
   */
  readonly ownsGit: boolean;
  /** The root is deleted afterwards: no program obeys its content, so nothing is guarded. */
  readonly isThrowaway?: true;
  /** Programs may make UNIX sockets of their own; absent: none, so that no outside one is reached. */
  readonly unixSockets?: boolean;
  /** The relay to granted hosts runs inside, on descriptor 5. */
  readonly hasRelay?: boolean;
  /** The program begins only when descriptor 6 says so. */
  readonly isHeld?: boolean;
  /** A folder of this delegation alone, which keeps its /tmp and its home between commands. */
  readonly scratch: string;
}

/** A command line that can be started once its placeholders exist. */
export interface CommandLine {
  readonly program: Program;
  readonly args: readonly string[];
  /**
   * Guarded paths that do not exist yet. Only an existing path can be covered, so an empty folder
   * must stand there while a command could create something else.
   */
  readonly placeholders: readonly string[];
  /** Read by the sandbox from descriptor 4 before the command begins; absent: nothing. */
  readonly filter?: Uint8Array;
}

/** A method of this machine to enforce a policy on a command. */
export interface Sandbox {
  /** The name for people: "bubblewrap 0.8.0". */
  readonly name: string;
  /** The processes have namespaces of their own: they end together, and reach granted hosts. */
  readonly hasNamespaces: boolean;
  /** The home and the temporary folder, as programs inside see them. */
  placesOf(scratch: string): { readonly home: string; readonly temporary: string };
  /**
   * Wraps a command with the policy. The caller passes a pipe as descriptor 3, on which the sandbox
   * names its first process: killing that process ends all of them.
   */
  wrap(policy: SandboxPolicy, argv: readonly string[], cwd: string): CommandLine;
}

/** Where the relay and the Node that runs it are inside a sandbox. */
export const relayInside = {
  node: "/run/mandate/node",
  script: `/run/mandate/relay${import.meta.filename.endsWith(".ts") ? ".ts" : ".mjs"}`,
};

/** The home folder inside a sandbox, for every user. */
export const homeInside = "/home/agent";

/** Programs, libraries and what is installed with them; no data of people or services. */
export const systemFolders: readonly string[] = [
  ...["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt"],
  ...["/nix/store", "/run/current-system", "/home/linuxbrew/.linuxbrew"],
];

/**
 * Selected by name: /etc also holds password hashes, host keys and tokens, which root could read.
 */
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
  /** Mounted read-only, in addition to the system folders. */
  readonly folders: readonly string[];
  /** The entries of PATH that are used. */
  readonly path: readonly string[];
  /** Where version managers find their programs, because the home folder is another one inside. */
  readonly variables: Readonly<Record<string, string>>;
}

/**
 * What must be visible for the programs on the operator's PATH: their folders, and of a home folder
 * only the parts of known version managers that hold programs. Files beside another program must be
 * made visible explicitly.
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
    // An empty or relative entry means the current folder of the command: the workspace.
    if (!isAbsolute(entry) || path.includes(entry) || !existsSync(entry)) continue;
    // A folder that contains the whole home is not a folder of programs.
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
  /** A folder below the user's home. */
  readonly folder: string;
  /** The parts that hold programs. Tokens and caches beside them stay hidden. */
  readonly shows: readonly string[];
  /** Tells its programs where the folder is, because the home folder is another one inside. */
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
 * The environment of one command, created for each command: nothing that an earlier command set,
 * and of this process only variables without secrets. Selected by name, so that an unknown key is
 * not passed.
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
    // By the same rule as for helpers: a tool rule that allows "git" means the operator's git, not
    // one that an agent or a repository provides.
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

/** A repository is trusted by its location, not by its owner: owners look different inside. */
const gitSettings: Readonly<Record<string, string>> = Object.freeze({
  GIT_CONFIG_COUNT: "2",
  GIT_CONFIG_KEY_0: "safe.directory",
  GIT_CONFIG_VALUE_0: "*",
  // A folder that looks like a bare repository is used only if it is named explicitly: its
  // configuration can run programs.
  GIT_CONFIG_KEY_1: "safe.bareRepository",
  GIT_CONFIG_VALUE_1: "explicit",
  GIT_TERMINAL_PROMPT: "0",
});
