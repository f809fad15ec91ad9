import { existsSync, lstatSync, readlinkSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { isBelow } from "../../contracts/write-roots.ts";
import { markName } from "../delegation-mark.ts";
import type { Program } from "../processes/find-program.ts";
import { type Cover, kindOfExisting, planGuards } from "./guarded-places.ts";
import { onlyInside } from "./only-inside.ts";
import { homeInside, type Sandbox, type SandboxPolicy } from "./sandbox.ts";
import { systemFolders, systemSettings } from "./visible-folders.ts";

interface BubblewrapOptions {
  readonly program: Program;
  readonly version: string;
  /** Whether namespaces can be forbidden inside; older ones cannot. */
  readonly closesNamespaces: boolean;
  /** Shown read-only, besides what every machine has. */
  readonly programFolders: readonly string[];
  /** On system calls; undefined where this architecture has none. */
  readonly filter: Uint8Array | undefined;
}

const withoutFilter = `, without a filter on system calls, since there is none for ${process.arch}`;

export function createBubblewrap(options: BubblewrapOptions): Sandbox {
  const { program, programFolders, filter } = options;
  const fixed = [
    ...isolation,
    ...(options.closesNamespaces ? ["--disable-userns"] : []),
    ...(filter === undefined ? [] : ["--seccomp", "4"]),
    ...showSystem(programFolders),
  ];
  return {
    name: `bubblewrap ${options.version}${filter === undefined ? withoutFilter : ""}`,
    wrap(policy, argv, cwd) {
      const { args, sources, placeholders } = mountPolicy(policy, programFolders);
      // Looked at before it is mounted: what is mounted then has to be the same.
      const checked = onlyInside(policy, sources, argv);
      const network = policy.network ? [] : ["--unshare-net"];
      const status = ["--json-status-fd", "3", "--chdir", cwd, "--"];
      return {
        program,
        args: [...fixed, ...network, ...args, ...status, ...checked],
        placeholders,
        ...(filter !== undefined && { filter }),
      };
    },
  };
}

const sharedMemoryBytes = 256 * 1024 * 1024;

/** Namespaces and privileges: the same for every command. */
export const isolation: readonly string[] = [
  ...["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"],
  ...["--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "sandbox"],
  // For those who look from outside, at the process that all others end with.
  ...["--unsetenv", markName],
];

/**
 * What every machine has, on a root that is otherwise empty: a home, /var, /run, /sys and other
 * people's folders do not exist inside.
 */
export function showSystem(programFolders: readonly string[]): readonly string[] {
  const args: string[] = [];
  for (const place of systemFolders) {
    const status = lstatSync(place, { throwIfNoEntry: false });
    if (status === undefined) continue;
    if (status.isSymbolicLink()) args.push("--symlink", readlinkSync(place), place);
    else args.push("--ro-bind", place, place);
  }
  for (const place of systemSettings()) args.push(...showFollowed(place));
  for (const place of programFolders) args.push(...showFollowed(place));
  return args;
}

/** By what a link leads to: the link's own target may be hidden. */
function showFollowed(place: string): readonly string[] {
  try {
    return ["--ro-bind", realpathSync(place), place];
  } catch {
    return [];
  }
}

interface Mounts {
  readonly args: readonly string[];
  /** What is mounted onto itself inside the workspace: files and folders that commands can swap. */
  readonly sources: readonly string[];
  readonly placeholders: readonly string[];
}

/**
 * The mounts of one policy, in an order in which later ones win: what is forbidden outside the
 * workspace, what is shown, the workspace, what in it is guarded, what in it is forbidden.
 */
function mountPolicy(policy: SandboxPolicy, programFolders: readonly string[]): Mounts {
  const outside = coverAmong([...systemFolders, ...programFolders], policy);
  const { pinned, readOnly, covered, missing } = planGuards(policy);
  const args = [
    ...["--proc", "/proc", "--dev", "/dev"],
    ...keyLists.filter((place) => existsSync(place)).flatMap((place) => hide(place)),
    ...["--perms", "1777", "--size", String(sharedMemoryBytes), "--tmpfs", "/dev/shm"],
    ...["--bind", join(policy.scratch, "tmp"), "/tmp"],
    ...["--bind", join(policy.scratch, "home"), homeInside],
    ...["--bind", join(policy.scratch, "tmp"), "/var/tmp"],
    ...outside.flatMap(cover),
    ...policy.visible.flatMap((place) => ["--ro-bind-try", place, place]),
    ...mountRoot(policy),
    ...pinned.flatMap((place) => ["--bind", place, place]),
    ...readOnly.flatMap((place) => ["--ro-bind", place, place]),
    ...covered.flatMap(cover),
    ...(policy.sockets ?? [])
      .filter((place) => !covered.some((above) => isBelow(place, above.place)))
      .flatMap(hide),
    ...[...outside, ...covered].flatMap(close),
    // As root the kernel's settings could be written without any privilege left.
    ...["--remount-ro", "/proc", "--remount-ro", "/dev", "--remount-ro", "/"],
  ];
  return { args, sources: [...pinned, ...readOnly], placeholders: missing };
}

/** What is forbidden outside the workspace is hidden already, unless programs lie around it. */
function coverAmong(
  shown: readonly string[],
  { root, forbidden }: SandboxPolicy,
): readonly Cover[] {
  return forbidden.flatMap((place) => {
    if (isBelow(place, root) || !shown.some((folder) => isBelow(place, folder))) return [];
    const kind = kindOfExisting(place);
    return kind === undefined ? [] : [{ place, kind }];
  });
}

function mountRoot({ root, allowWrites, writeRoots }: SandboxPolicy): readonly string[] {
  const writable = allowWrites ? outermost(writeRoots) : [];
  if (writable.includes(root)) return ["--bind", root, root];
  const args = ["--ro-bind", root, root];
  for (const folder of writable) {
    // One that has become a link would let its target be written, wherever that is.
    if (realpathOf(folder) === folder) args.push("--bind", folder, folder);
  }
  return args;
}

/** A write root inside another one could be replaced from there before it is mounted. */
function outermost(folders: readonly string[]): readonly string[] {
  return folders.filter((one) => !folders.some((other) => other !== one && isBelow(one, other)));
}

function realpathOf(place: string): string | undefined {
  try {
    return realpathSync(place);
  } catch {
    return undefined;
  }
}

/** The names of the user's keys; the keys themselves are closed by the filter on system calls. */
const keyLists = ["/proc/keys", "/proc/key-users"];

/** By a device that cannot be opened there. */
function hide(file: string): readonly string[] {
  return ["--ro-bind", "/dev/null", file];
}

function cover({ place, kind }: Cover): readonly string[] {
  if (kind === "file") return hide(place);
  return ["--perms", "0555", "--size", "4096", "--tmpfs", place];
}

/** Only at the end: the workspace may lie inside. */
function close({ place, kind }: Cover): readonly string[] {
  return kind === "file" ? [] : ["--remount-ro", place];
}
