import { readFileSync } from "node:fs";
import { release, totalmem } from "node:os";
import type { Clock } from "../../ports/clock.ts";
import { countTasks } from "../delegation-mark.ts";

/** What all processes of one sandbox may use together. */
export interface ResourceLimits {
  readonly processes: number;
  readonly memoryMb: number;
}

/** For a sandbox of which nothing else is configured: half of the machine. */
export const defaultLimits: ResourceLimits = {
  processes: 1024,
  memoryMb: Math.max(512, Math.floor(totalmem() / 1024 / 1024 / 2)),
};

export function limitsFrom(configured: {
  readonly memoryMb?: number | undefined;
  readonly processes: number;
}): ResourceLimits {
  const { memoryMb = defaultLimits.memoryMb, processes } = configured;
  return { memoryMb, processes };
}

/**
 * Since Linux 5.14 the limit of a user's processes counts those of a namespace; before, those of the
 * user on the whole machine. For root it never counts.
 */
export function countsInNamespace(): boolean {
  const [major = 0, minor = 0] = release().split(".").map(Number);
  return process.getuid?.() !== 0 && (major > 5 || (major === 5 && minor >= 14));
}

interface Watched {
  /** The processes of the program at this moment. */
  processes(): readonly number[];
  onExceeded(because: string): void;
}

const watchMs = 50;
/** The machine may hide what one sandbox takes: others give memory back at the same time. */
const lookEvery = 20;

/**
 * Counts what a sandbox uses, where the system itself does not. The machine as a whole is looked at
 * first, in two small files: all processes are examined only if that changed by as much as one sandbox
 * may use, and once a second. Returns the function that ends it.
 */
export function watchResources(watched: Watched, limits: ResourceLimits, clock: Clock): () => void {
  if (process.platform !== "linux") return () => undefined;
  const { processes: mostProcesses, memoryMb } = limits;
  const tasksBefore = countTasks();
  const freeBefore = availableMb();
  let ticks = 0;
  const timer = clock.every(watchMs, () => {
    ticks += 1;
    const isDue = ticks % lookEvery === 0;
    const hasTasks = countTasks() - tasksBefore > mostProcesses;
    const hasMemory = freeBefore - availableMb() > memoryMb / 2;
    if (!isDue && !hasTasks && !hasMemory) return;
    const processes = watched.processes();
    if (processes.length > mostProcesses) watched.onExceeded(tooMany(mostProcesses));
    else if (usesMore(processes, memoryMb)) watched.onExceeded(tooMuch(memoryMb));
  });
  timer.unref();
  return () => timer.cancel();
}

function tooMany(processes: number): string {
  return `It started more than ${processes} processes and was ended.`;
}

export function tooMuch(memoryMb: number): string {
  return `It used more than ${memoryMb} MB of memory and was ended.`;
}

function availableMb(): number {
  try {
    const text = readFileSync("/proc/meminfo", "latin1");
    return Number(/MemAvailable:\s+(\d+)/.exec(text)?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}

/** Files that are mapped do not count: the system takes their memory back when it needs it. */
function usesMore(processes: readonly number[], mostMb: number): boolean {
  const own = sumMb(processes, "status", /^(?:RssAnon|RssShmem):\s+(\d+)/gm);
  if (own <= mostMb) return false;
  // Copies that forked processes still share were counted once for each of them.
  const shares = sumMb(processes, "smaps_rollup", /^(?:Pss_Anon|Pss_Shmem):\s+(\d+)/gm);
  return (shares === 0 ? own : shares) > mostMb;
}

function sumMb(processes: readonly number[], file: string, field: RegExp): number {
  let kilobytes = 0;
  for (const pid of processes) {
    try {
      const text = readFileSync(`/proc/${pid}/${file}`, "latin1");
      for (const [, value] of text.matchAll(field)) kilobytes += Number(value);
    } catch {
      // The process has ended.
    }
  }
  return kilobytes / 1024;
}
