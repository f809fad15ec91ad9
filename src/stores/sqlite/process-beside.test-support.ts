import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { until } from "../../testing/until.ts";

/** Another process on the same database, and the lines that it said so far. */
export interface ProcessBeside {
  readonly process: ChildProcess;
  readonly lines: string[];
  /** With its exit code, null when it was killed; then all that it said has been read. */
  readonly ended: Promise<number | null>;
}

export function startBeside(
  script: URL,
  args: readonly (string | number)[],
  onLine: (line: string) => void = () => {},
): ProcessBeside {
  const child = spawn(process.execPath, [fileURLToPath(script), ...args.map(String)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines: string[] = [];
  const reader = createInterface({ input: child.stdout });
  reader.on("line", (line) => {
    lines.push(line);
    onLine(line);
  });
  const ended = Promise.all([once(child, "exit"), once(reader, "close")]).then(
    ([[code]]) => code as number | null,
  );
  return { process: child, lines, ended };
}

/** Waits for something that living processes bring about; that one ends first is an error. */
export async function untilTheyHave(
  what: string,
  processes: readonly ProcessBeside[],
  look: () => boolean,
): Promise<void> {
  let ended: number | null | undefined;
  for (const one of processes) void one.ended.then((code) => (ended = code));
  await until(what, () => {
    if (look()) return true;
    if (ended !== undefined) throw new Error(`a process ended too early, with ${ended}`);
    return false;
  });
}
