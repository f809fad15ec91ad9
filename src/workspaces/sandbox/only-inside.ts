import { closeSync, constants, fstatSync, openSync, readlinkSync } from "node:fs";
import { CallDenied } from "../../ports/call-denied.ts";
import type { SandboxPolicy } from "./sandbox.ts";

const flags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/**
 * The command, to be run only if the folders that it finds at the root and at the write roots are
 * those that lie there now. Folders are mounted by their paths: whoever else may write around them
 * could put a link in their place in between, and anything on the machine would be mounted.
 */
export function onlyInside(policy: SandboxPolicy, argv: readonly string[]): readonly string[] {
  const { root, allowWrites, writeRoots } = policy;
  const folders = new Set([root, ...(allowWrites ? writeRoots.filter(isFolder) : [])]);
  const places = [...folders].flatMap((folder) => [String(inodeOf(folder)), folder]);
  return ["/bin/sh", "-c", script, "sh", String(folders.size), ...places, ...argv];
}

// `ls -di` is on every machine: the number of the folder, then its name.
const script = `
left=$1; shift
while [ "$left" -gt 0 ]; do
  found=$(PATH="/usr/bin:/bin:$PATH" ls -di -- "$2" 2>/dev/null) || found=
  found=\${found#"\${found%%[! ]*}"}
  if [ "\${found%% *}" != "$1" ]; then
    echo "The workspace was replaced while the command was being started. It was not run." >&2
    exit 126
  fi
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

function inodeOf(folder: string): bigint {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(folder, flags);
    if (readlinkSync(`/proc/self/fd/${descriptor}`) === folder) {
      return fstatSync(descriptor, { bigint: true }).ino;
    }
  } catch {
    // It is gone, or has become a link.
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
  throw new CallDenied(
    "workspace_replaced",
    `"${folder}" was replaced by something else. Look again with list_files, then retry.`,
  );
}
