import { openSync, readdirSync, readFileSync } from "node:fs";

const closesOnExec = 0o2000000;

/** Of so many each is looked at before every start: some 20 µs each. */
const mostLookedAt = 512;

let found: readonly number[] | undefined;
let nothing: number | undefined;

/**
 * How a process is to be started so that no descriptor reaches it but the given ones. Ours close by
 * themselves; those that we inherited, or that native code opened, do not, and one folder among them
 * is the way to every file. They cannot be closed from here: whoever needs them is not asked. So the
 * started process finds the null device in their place.
 */
export function stdioWithoutInherited<Own extends ("pipe" | "ignore")[]>(own: [...Own]): [...Own] {
  const inherited = findInherited();
  if (inherited.length === 0) return own;
  const stdio: ("pipe" | "ignore" | number)[] = [...own];
  for (const descriptor of inherited) {
    while (stdio.length <= descriptor) stdio.push("ignore");
    // Beyond the first three "ignore" leaves what is there.
    if (stdio[descriptor] !== "ignore") continue;
    nothing ??= openSync("/dev/null", "r");
    stdio[descriptor] = nothing;
  }
  // The first ones are what they were, and the others are no streams.
  return stdio as unknown as [...Own];
}

/** Elsewhere than on Linux, started processes get only what they are given. */
function findInherited(): readonly number[] {
  if (process.platform !== "linux") return [];
  try {
    const open = readdirSync("/proc/self/fd").map(Number);
    // A server with thousands of connections asks once: those are its own, and close.
    if (found === undefined || open.length <= mostLookedAt) found = open.filter(staysOpen);
    return found;
  } catch {
    return found ?? [];
  }
}

function staysOpen(descriptor: number): boolean {
  if (descriptor < 3) return false;
  try {
    const about = readFileSync(`/proc/self/fdinfo/${descriptor}`, "latin1");
    return (Number.parseInt(/flags:\s*(\d+)/.exec(about)?.[1] ?? "0", 8) & closesOnExec) === 0;
  } catch {
    // That with which the others were listed: it is closed by now.
    return false;
  }
}
