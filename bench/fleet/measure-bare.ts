import { type ChildProcess, fork } from "node:child_process";
import { join } from "node:path";
import { dropDatabase, freshDatabase } from "../../src/testing/postgres.test-support.ts";

/** Milliseconds for so many child workflows of bare DBOS on so many workers. */
export async function measureBare(
  workers: number,
  children: number,
  atOnce: number,
): Promise<number> {
  const url = await freshDatabase();
  const processes: ChildProcess[] = [];
  const start = (role: string): Promise<unknown> => {
    const program = join(import.meta.dirname, "bare-worker.ts");
    const words = [url, role, String(children), String(atOnce)];
    const process = fork(program, words, { execArgv: ["--no-deprecation"] });
    processes.push(process);
    return new Promise((resolve, reject) => {
      process.once("message", resolve);
      process.once("exit", (code) => reject(new Error(`it ended with ${code}`)));
    });
  };
  try {
    for (let count = 0; count < workers; count++) await start("worker");
    return Number(await start("parent"));
  } finally {
    for (const process of processes) process.kill("SIGKILL");
    await dropDatabase(url);
  }
}
