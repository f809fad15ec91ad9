import { accessSync, constants, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type ResourceLimits, tooMuch } from "./resource-limits.ts";

/** A control group (cgroup v2) of one sandbox: the kernel counts, and refuses what is over the limits. */
export interface ControlGroup {
  add(pid: number): void;
  /** Why the kernel ended it, as a sentence; undefined: it did not. */
  exceeded(): string | undefined;
  /** Ends every process in the group. */
  kill(): void;
  /** Removes the group, once it has no process left. */
  remove(): void;
}

const needed = ["memory", "pids"];

/**
 * The folder in which this process may make control groups that limit memory and processes; undefined
 * where the system has delegated none, which is usual outside of systemd's user sessions.
 */
export function findDelegatedGroup(
  root = "/sys/fs/cgroup",
  ownGroup: string | undefined = groupOfThisProcess(),
): string | undefined {
  if (ownGroup === undefined) return undefined;
  const own = join(root, ownGroup);
  // Only a group without processes of its own can hand controllers on: our own has one.
  return [dirname(own), own].find(
    (folder) => `${folder}/`.startsWith(`${root}/`) && isOpen(folder),
  );
}

function groupOfThisProcess(): string | undefined {
  return /^0::(\/.*)$/m.exec(textOf("/proc/self/cgroup"))?.[1];
}

function isOpen(folder: string): boolean {
  const handedOn = textOf(join(folder, "cgroup.subtree_control")).trim().split(/\s+/);
  if (!needed.every((controller) => handedOn.includes(controller))) return false;
  try {
    // A process is moved by writing to the group that both its old and its new group are below.
    for (const name of [".", "cgroup.procs"]) accessSync(join(folder, name), constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Throws where the system does not let a group be made after all. */
export function createControlGroup(
  parent: string,
  name: string,
  { memoryMb, processes }: ResourceLimits,
): ControlGroup {
  const folder = join(parent, `mandate-${name}`);
  mkdirSync(folder);
  const write = (file: string, value: string) => writeFileSync(join(folder, file), value);
  try {
    write("memory.max", String(memoryMb * 1024 * 1024));
    write("pids.max", String(processes));
  } catch (error) {
    rmdirSync(folder);
    throw error;
  }
  for (const [file, value] of [
    ["memory.swap.max", "0"],
    ["memory.oom.group", "1"],
  ] as const) {
    try {
      write(file, value);
    } catch {
      // Some kernels do not have this file.
    }
  }
  return {
    add: (pid) => write("cgroup.procs", String(pid)),
    exceeded() {
      // Beyond the limit on processes none starts any more, and those that run are not ended.
      const ended = countIn(join(folder, "memory.events"), "oom_kill") > 0;
      return ended ? tooMuch(memoryMb) : undefined;
    },
    kill() {
      try {
        write("cgroup.kill", "1");
      } catch {
        // Before Linux 5.14; the process namespace is ended as well.
      }
    },
    remove() {
      try {
        rmdirSync(folder);
      } catch {
        // A process of the group is still ending; an empty group that remains costs nothing.
      }
    },
  };
}

function countIn(file: string, name: string): number {
  return Number(new RegExp(`^${name} (\\d+)$`, "m").exec(textOf(file))?.[1] ?? 0);
}

function textOf(file: string): string {
  try {
    return readFileSync(file, "latin1");
  } catch {
    return "";
  }
}
