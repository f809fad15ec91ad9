import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readlinkSync,
  realpathSync,
} from "node:fs";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { isBelow } from "../../contracts/write-roots.ts";
import { CallDenied } from "../../ports/mandate-error.ts";
import { markName } from "../delegation-mark.ts";
import { ownNode, type Program } from "../processes/find-program.ts";
import { type Cover, kindOfExisting, planGuards } from "./guarded-places.ts";
import {
  homeInside,
  relayInside,
  type Sandbox,
  type SandboxPolicy,
  systemFolders,
  systemSettings,
} from "./sandbox.ts";
import { systemCallFilter } from "./system-call-filter.ts";

interface BubblewrapOptions {
  readonly program: Program;
  readonly version: string;
  /** Whether new namespaces can be forbidden inside; old versions of bubblewrap cannot. */
  readonly closesNamespaces: boolean;
  /** Mounted read-only, in addition to the system folders. */
  readonly programFolders: readonly string[];
  /** Commands do not run without the filter on system calls; false for an unknown architecture. */
  readonly isFiltered: boolean;
}

const withoutFilter = `, without a system call filter, which does not exist for ${process.arch}`;

export function createBubblewrap(options: BubblewrapOptions): Sandbox {
  const { program, programFolders, isFiltered } = options;
  const fixed = [
    ...isolation,
    ...(options.closesNamespaces ? ["--disable-userns"] : []),
    ...(isFiltered ? ["--seccomp", "4"] : []),
    ...showSystem(programFolders),
  ];
  return {
    name: `bubblewrap ${options.version}${isFiltered ? "" : withoutFilter}`,
    hasNamespaces: true,
    placesOf: () => ({ home: homeInside, temporary: "/tmp" }),
    wrap(policy, argv, cwd) {
      const { args, sources, placeholders } = mountPolicy(policy, programFolders);
      // Recorded before mounting: what is mounted must be the same.
      const checked = onlyInside(policy, sources, argv);
      const hold = policy.isHeld ? ["--block-fd", "6"] : [];
      const status = [...hold, "--json-status-fd", "3", "--chdir", cwd, "--"];
      const filter = isFiltered
        ? systemCallFilter({ unixSockets: policy.unixSockets === true })
        : undefined;
      return {
        program,
        args: [...fixed, ...args, ...status, ...checked],
        placeholders,
        ...(filter !== undefined && { filter }),
      };
    },
  };
}

const relayScript = fileURLToPath(
  new URL(`../egress/relay-main${extname(import.meta.filename)}`, import.meta.url),
);

const sharedMemoryBytes = 256 * 1024 * 1024;

/** Namespaces and privileges: the same for every command. */
export const isolation: readonly string[] = [
  ...["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"],
  // The network is unshared even where hosts are granted: those are reached through the relay alone.
  "--unshare-net",
  ...["--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "sandbox"],
  // The mark is for processes outside; the process inside ends with all others.
  ...["--unsetenv", markName],
];

/**
 * The system folders on an otherwise empty root: a home, /var, /run, /sys and the folders of other
 * people do not exist inside.
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

/** By the real path: the target of the link may be hidden. */
function showFollowed(place: string): readonly string[] {
  try {
    return ["--ro-bind", realpathSync(place), place];
  } catch {
    return [];
  }
}

interface Mounts {
  readonly args: readonly string[];
  /**
   * What is mounted onto itself inside the workspace: files and folders that commands could swap.
   */
  readonly sources: readonly string[];
  readonly placeholders: readonly string[];
}

/**
 * The mounts of one policy. Later mounts win: forbidden places outside the workspace, visible
 * places, the workspace, guarded places in it, forbidden places in it.
 */
function mountPolicy(policy: SandboxPolicy, programFolders: readonly string[]): Mounts {
  const outside = coverAmong([...systemFolders, ...programFolders], policy);
  const beside = coverAmong(policy.visible, policy);
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
    ...beside.flatMap(cover),
    ...mountRoot(policy),
    ...(policy.hasRelay ? relayMounts : []),
    ...pinned.flatMap((place) => ["--bind", place, place]),
    ...readOnly.flatMap((place) => ["--ro-bind", place, place]),
    ...covered.flatMap(cover),
    ...(policy.sockets ?? [])
      .filter((place) => !covered.some((above) => isBelow(place, above.place)))
      .flatMap(hide),
    ...[...outside, ...beside, ...covered].flatMap(close),
    // A command that runs as root could write kernel settings even without privileges.
    ...["--remount-ro", "/proc", "--remount-ro", "/dev", "--remount-ro", "/"],
  ];
  return { args, sources: [...pinned, ...readOnly], placeholders: missing };
}

/**
 * Forbidden places outside the workspace are hidden already, unless they are below a visible folder
 * of programs.
 */
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
    // If it has become a link, the target could be written, wherever it is.
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

const relayMounts = [
  ...["--ro-bind", ownNode().file, relayInside.node],
  ...["--ro-bind", relayScript, relayInside.script],
];

/** Lists of the user's keys; the system call filter blocks the keys themselves. */
const keyLists = ["/proc/keys", "/proc/key-users"];

/** Hides a file behind a device that cannot be opened. */
function hide(file: string): readonly string[] {
  return ["--ro-bind", "/dev/null", file];
}

function cover({ place, kind }: Cover): readonly string[] {
  if (kind === "file") return hide(place);
  return ["--perms", "0555", "--size", "4096", "--tmpfs", place];
}

/** Covers are closed at the end only: the workspace may be inside. */
function close({ place, kind }: Cover): readonly string[] {
  return kind === "file" ? [] : ["--remount-ro", place];
}

// O_PATH is not among Node's constants: it opens the name of a file without opening the file, for pipes
// and devices too.
const pathOnly = 0o10000000;

/** The longest argument, in bytes; the system takes 128 KB. */
const longestBatch = 64 * 1024;

/**
 * Wraps a command so that it runs only if every path that is mounted onto itself (root, write
 * roots, other sources) is still the file that is recorded now. Mounts are made by path: another
 * process could replace a path by a link in between, and the sandbox would mount any file of the
 * machine.
 */
function onlyInside(
  policy: SandboxPolicy,
  sources: readonly string[],
  argv: readonly string[],
): readonly string[] {
  const { root, allowWrites, writeRoots } = policy;
  const places = new Set([root, ...(allowWrites ? writeRoots.filter(isFolder) : []), ...sources]);
  const lines = [...places].map((place) => ({ inode: String(inodeOf(place)), place }));
  // Programs differ in how they show other characters.
  const isPlain = ({ place }: Line) => /^[ -~]+$/.test(place);
  const single = lines.filter((line) => !isPlain(line));
  const batches = inBatches(lines.filter(isPlain));
  return [
    ...["/bin/sh", "-c", script, "sh", String(single.length)],
    ...single.flatMap(({ inode, place }) => [inode, place]),
    String(batches.length),
    ...batches.flatMap((batch) => [
      batch.map(({ place }) => place).join("\n"),
      batch.map(({ inode, place }) => `${inode} ${place}`).join("\n"),
    ]),
    ...argv,
  ];
}

interface Line {
  readonly inode: string;
  readonly place: string;
}

/** Splits the lines into batches that fit one argument, sorted as `ls` sorts them. */
function inBatches(lines: readonly Line[]): readonly (readonly Line[])[] {
  const batches: Line[][] = [];
  let room = 0;
  for (const line of [...lines].sort((left, right) => (left.place < right.place ? -1 : 1))) {
    const length = line.inode.length + line.place.length + 2;
    if (length > room) {
      batches.push([]);
      room = longestBatch;
    }
    batches.at(-1)?.push(line);
    room -= length;
  }
  return batches;
}

// `ls -di` is on every machine: it prints the inode and the name of each path.
const script = `
refuse() {
  echo "The workspace was replaced while the command was being started. It was not run." >&2
  exit 126
}
list() { LC_ALL=C PATH="/usr/bin:/bin:$PATH" ls -di -- "$@" 2>/dev/null; }
left=$1; shift
while [ "$left" -gt 0 ]; do
  found=$(list "$2") || found=
  found=\${found#"\${found%%[! ]*}"}
  [ "\${found%% *}" = "$1" ] || refuse
  shift 2; left=$((left - 1))
done
left=$1; shift
while [ "$left" -gt 0 ]; do
  found=$(set -f; IFS='
'; list $1 | PATH="/usr/bin:/bin:$PATH" sed 's/^ *//')
  [ "$found" = "$2" ] || refuse
  shift 2; left=$((left - 1))
done
exec "$@"`;

function isFolder(place: string): boolean {
  try {
    closeSync(openSync(place, constants.O_RDONLY | constants.O_DIRECTORY));
    return true;
  } catch {
    return false;
  }
}

function inodeOf(place: string): bigint {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(place, pathOnly | constants.O_NOFOLLOW);
    const status = fstatSync(descriptor, { bigint: true });
    const isHere = readlinkSync(`/proc/self/fd/${descriptor}`) === place;
    if (isHere && !status.isSymbolicLink()) return status.ino;
  } catch {
    // The file is gone, or has become a link.
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
  throw new CallDenied(
    "workspace_replaced",
    `"${place}" was replaced by something else. Look again with list_files, then retry.`,
  );
}
