import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import type { CallFault } from "./job.ts";

const watched = ["pwrite64", "fsync"] as const;

let lack: string | undefined | null = null;

/** Why system calls cannot be made to fail here; undefined when they can. */
export function lackOfTracing(): string | undefined {
  if (lack !== null) return lack;
  const probe = spawnSync("strace", ["-f", "-e", "trace=none", "true"], { encoding: "utf8" });
  lack =
    probe.error !== undefined
      ? "strace is not installed"
      : probe.status === 0
        ? undefined
        : `strace may not trace here (${probe.stderr.trim().split("\n").at(-1)})`;
  return lack;
}

/**
 * The command that runs another one so that a system call of it fails. The tracer is the tracee's
 * child (-D), so that whoever starts and kills this starts and kills the process itself.
 */
export function traced(
  command: readonly [string, ...string[]],
  fault: CallFault | undefined,
  trace: string | undefined,
): [command: string, words: string[]] {
  const [program, ...words] = command;
  if (fault === undefined && trace === undefined) return [program, words];
  return [
    "strace",
    [
      ...["-D", "-f", "-q", "-o", trace ?? "/dev/null"],
      // Only the calls that are watched stop it then, but signals are not delivered.
      ...(fault?.error === "kill" ? [] : ["--seccomp-bpf"]),
      ...["-e", `trace=${watched.join(",")}`, "-e", "signal=none"],
      ...(fault === undefined ? [] : ["-e", injection(fault)]),
      ...command,
    ],
  ];
}

function injection({ call, at, count, error }: CallFault): string {
  const how = error === "kill" ? "signal=KILL" : `error=${error}`;
  const when = count === null ? `${at}+` : count === 1 ? `${at}` : `${at}..${at + count - 1}`;
  return `inject=${call}:${how}:when=${when}`;
}

/** How often the thread that called it most did so: faults are counted for each thread. */
export function countCalls(trace: string): Readonly<Record<CallFault["call"], number>> {
  const counts = new Map<string, number>();
  for (const line of readFileSync(trace, "latin1").split("\n")) {
    const [, thread, call] = /^(\d+) +(\w+)\(/.exec(line) ?? [];
    if (call === undefined) continue;
    counts.set(`${call} ${thread}`, (counts.get(`${call} ${thread}`) ?? 0) + 1);
  }
  const most = (call: string): number =>
    Math.max(0, ...[...counts].flatMap(([key, n]) => (key.startsWith(`${call} `) ? [n] : [])));
  return { pwrite64: most("pwrite64"), fsync: most("fsync") };
}
