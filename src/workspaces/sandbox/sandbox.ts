import { existsSync, readdirSync, realpathSync } from "node:fs";
import { basename, dirname, isAbsolute, join } from "node:path";
import { isBelow } from "../../contracts/write-roots.ts";
import { type Program, programFolders, usualFolders } from "../processes/find-program.ts";

/**
 * What one command may see and touch. Everything that is not named here, or that every program
 * needs to run at all, does not exist for it.
 */
export interface SandboxPolicy {
  /** Absolute, links resolved. Readable, apart from what is forbidden. */
  readonly root: string;
  /** Absolute, at or below the root; without effect unless `allowWrites`. */
  readonly writeRoots: readonly string[];
  readonly allowWrites: boolean;
  /** Neither readable nor writable, wherever it lies: MANDATE_HOME, the user's configuration. */
  readonly forbidden: readonly string[];
  /** Readable where it is visible at all, and not writable: what the next start obeys. */
  readonly guarded: readonly string[];
  /** Sockets of processes outside that lie in the root; shown as files that cannot be opened. */
  readonly sockets?: readonly string[];
  /** Readable beside the root: what a working copy borrows its objects from. */
  readonly visible: readonly string[];
  /**
   * Whether the root's `.git` may be written, apart from what makes git run programs. Only for a
   * working copy that nobody else's git obeys; otherwise all of it is read-only.
   */
  readonly ownsGit: boolean;
  /** The root is thrown away afterwards: nobody obeys what is in it, so nothing needs guarding. */
  readonly isThrowaway?: true;
  readonly network: boolean;
  /** A folder of this delegation alone; its /tmp and its home are kept in it between commands. */
  readonly scratch: string;
}

/** A command line that can be started once its placeholders are there. */
export interface CommandLine {
  readonly program: Program;
  readonly args: readonly string[];
  /**
   * Guarded places that do not exist yet. Only what exists can be covered, so an empty folder has
   * to be there for as long as a command could create something else.
   */
  readonly placeholders: readonly string[];
  /** What the sandbox reads from descriptor 4 before the command begins; absent: nothing. */
  readonly filter?: Uint8Array;
}

/** A way of this machine to hold a command to a policy. */
export interface Sandbox {
  /** How people call it: "bubblewrap 0.8.0". */
  readonly name: string;
  /**
   * The command under the policy. Whoever starts it gives it a pipe as descriptor 3, on which the
   * process that everything else descends from is named: killing that one ends all of them.
   */
  wrap(policy: SandboxPolicy, argv: readonly string[], cwd: string): CommandLine;
}

/** Where programs find their home inside a sandbox, whoever runs it. */
export const homeInside = "/home/agent";

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
