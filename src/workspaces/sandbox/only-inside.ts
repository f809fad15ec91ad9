import { closeSync, constants, fstatSync, openSync, readlinkSync } from "node:fs";
import { CallDenied } from "../../ports/mandate-error.ts";
import type { SandboxPolicy } from "./sandbox.ts";

// Not among Node's constants: names a file without opening it, pipes and devices included.
const pathOnly = 0o10000000;

/** Of one argument; the system takes 128 KB. */
const longestBatch = 64 * 1024;

/**
 * The command, to be run only if what it finds at the root, at the write roots and at whatever else
 * is mounted onto itself is what lies there now. Things are mounted by their paths: whoever else may
 * write around them could put a link in their place in between, and anything on the machine would
 * be mounted.
 */
export function onlyInside(
  policy: SandboxPolicy,
  sources: readonly string[],
  argv: readonly string[],
): readonly string[] {
  const { root, allowWrites, writeRoots } = policy;
  const places = new Set([root, ...(allowWrites ? writeRoots.filter(isFolder) : []), ...sources]);
  const lines = [...places].map((place) => ({ inode: String(inodeOf(place)), place }));
  // Programs do not agree on how they show other names.
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

/** Sorted as `ls` sorts them. */
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

// `ls -di` is on every machine: for each place its number, then its name.
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
    // It is gone, or has become a link.
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
  throw new CallDenied(
    "workspace_replaced",
    `"${place}" was replaced by something else. Look again with list_files, then retry.`,
  );
}
