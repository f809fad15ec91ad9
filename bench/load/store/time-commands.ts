import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { percentilesOf } from "../percentiles.ts";

export interface CommandTime {
  readonly command: string;
  /** From the start of the process to its end: the middle of several, and the best. */
  readonly ms: number;
  readonly bestMs: number;
  readonly peakMb: number;
}

/** How long people wait for a command on this home, and what it takes. */
export async function timeCommand(
  binary: string,
  folder: string,
  words: readonly string[],
  times: number,
): Promise<CommandTime> {
  const all: number[] = [];
  let peakMb = 0;
  for (let time = 0; time < times; time += 1) {
    const { ms, peak } = await runOnce(binary, folder, words);
    all.push(ms);
    peakMb = Math.max(peakMb, peak);
  }
  const command = `mandate ${words[0]}`;
  return { command, ms: percentilesOf(all).p50, bestMs: Math.min(...all), peakMb };
}

async function runOnce(binary: string, folder: string, words: readonly string[]) {
  const began = performance.now();
  const child = spawn(process.execPath, ["--no-warnings", binary, ...words], {
    cwd: join(folder, "workspace"),
    env: { PATH: process.env["PATH"], HOME: folder, MANDATE_HOME: join(folder, "home") },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  child.stdout.on("data", () => undefined);
  child.stderr.on("data", (text) => {
    said += text;
  });
  let peak = 0;
  const watching = setInterval(() => {
    peak = Math.max(peak, residentMb(child.pid));
  }, 20);
  const [code] = await once(child, "close");
  clearInterval(watching);
  if (code !== 0) throw new Error(`mandate ${words.join(" ")} ended with ${code}: ${said}`);
  return { ms: performance.now() - began, peak };
}

/** The most it ever had; where the system does not tell, nothing. */
function residentMb(pid: number | undefined): number {
  try {
    const [, kilobytes = "0"] =
      /VmHWM:\s+([0-9]+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    return Number(kilobytes) / 1024;
  } catch {
    return 0;
  }
}
