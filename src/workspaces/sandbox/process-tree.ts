import { readdirSync, readFileSync } from "node:fs";

/**
 * The processes that descend from one, by what the system says at this moment. In a namespace
 * whoever loses its parent is given to the first process, so none of them gets out of this tree.
 */
export function descendantsOf(ancestor: number): readonly number[] {
  const children = new Map<number, number[]>();
  for (const entry of readdirSync("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    const parent = parentOf(entry);
    if (parent === undefined) continue;
    const siblings = children.get(parent);
    if (siblings === undefined) children.set(parent, [Number(entry)]);
    else siblings.push(Number(entry));
  }
  const found: number[] = [];
  const open = [ancestor];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const below = children.get(next) ?? [];
    found.push(...below);
    open.push(...below);
  }
  return found;
}

function parentOf(pid: string): number | undefined {
  try {
    // pid (name, which may hold anything) state parent …
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
  } catch {
    // It went while we looked.
    return undefined;
  }
}

/** Those that were started with this in their environment, wherever they have gone since. */
export function processesMarked(mark: string): readonly number[] {
  return readdirSync("/proc").flatMap((entry) => {
    if (!/^\d+$/.test(entry)) return [];
    try {
      const environment = readFileSync(`/proc/${entry}/environ`, "latin1");
      return environment.split("\0").includes(mark) ? [Number(entry)] : [];
    } catch {
      return [];
    }
  });
}

export function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // Gone already.
  }
}

/** How many tasks the whole machine has: one small file, against a look at every process. */
export function countTasks(): number {
  try {
    return Number(/\/(\d+) /.exec(readFileSync("/proc/loadavg", "latin1"))?.[1] ?? 0);
  } catch {
    return 0;
  }
}
