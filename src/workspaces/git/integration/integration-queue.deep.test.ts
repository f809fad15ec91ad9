import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { until } from "../../../testing/until.ts";
import { identifyThisProcess, isProcessAlive } from "../../processes/process-start.ts";
import { lockFolderOf } from "../copies/working-copy.ts";
import { makeFolder } from "../repository.test-support.ts";
import { IntegrationQueue } from "./integration-queue.ts";

test("first come, first served, one at a time for each place; a failure does not stop the line", async () => {
  const queue = new IntegrationQueue(makeFolder());
  const other = new IntegrationQueue(makeFolder());
  const order: number[] = [];
  let inside = 0;
  const jobs = Array.from({ length: 20 }, (_, index) =>
    queue
      .run("/place", async () => {
        inside += 1;
        expect(inside).toBe(1);
        await sleep((20 - index) % 3);
        order.push(index);
        inside -= 1;
        if (index % 5 === 0) throw new Error("no");
      })
      .catch(() => undefined),
  );
  let isOther = false;
  await other.run("/other", async () => {
    isOther = true;
  });
  expect(isOther).toBe(true);
  await Promise.all(jobs);
  expect(order).toEqual(Array.from({ length: 20 }, (_, index) => index));
});

test("who is cancelled while waiting leaves the line", async () => {
  const queue = new IntegrationQueue(makeFolder());
  const cancel = new AbortController();
  const gate = Promise.withResolvers<void>();
  const first = queue.run("/place", () => gate.promise);
  const second = queue.run("/place", async () => "second", { signal: cancel.signal });
  cancel.abort();
  const third = queue.run("/place", async () => "third");
  let isFirstDone = false;
  void first.then(() => {
    isFirstDone = true;
  });
  await expect(second).rejects.toThrow();
  expect(isFirstDone).toBe(false);
  gate.resolve();
  expect(await third).toBe("third");
});

const worker = `
import { appendFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { IntegrationQueue } from ${JSON.stringify(join(import.meta.dirname, "integration-queue.ts"))};
const [home, log, name] = process.argv.slice(1);
const queue = new IntegrationQueue(home);
const runs = [];
for (let index = 0; index < 15; index++) runs.push(queue.run("/place", async () => {
  appendFileSync(log, "in " + name + "\\n");
  await sleep(Math.random() * 3);
  appendFileSync(log, "out " + name + "\\n");
}));
await Promise.all(runs);
`;

function start(script: string, ...args: string[]) {
  return spawn(process.execPath, ["--input-type=module", "-e", script, ...args], {
    stdio: "inherit",
  });
}

test("processes take turns", { timeout: 60_000 }, async () => {
  const home = makeFolder();
  const log = join(home, "log");
  writeFileSync(log, "");
  const children = ["a", "b", "c"].map((name) => start(worker, home, log, name));
  await Promise.all(
    children.map((child) => new Promise<void>((resolve) => child.on("close", () => resolve()))),
  );
  const lines = readFileSync(log, "utf8").trim().split("\n");
  expect(lines).toHaveLength(90);
  for (let index = 0; index < lines.length; index += 2) {
    expect(lines[index + 1]).toBe(lines[index]?.replace("in ", "out "));
  }
});

test("a process that was killed while it held the lock, or while it waited, is passed over", {
  timeout: 60_000,
}, async () => {
  const home = makeFolder();
  const marker = join(home, "held");
  const holder = `
import { writeFileSync } from "node:fs";
import { IntegrationQueue } from ${JSON.stringify(join(import.meta.dirname, "integration-queue.ts"))};
const [home, marker] = process.argv.slice(1);
await new IntegrationQueue(home).run("/place", async () => {
  writeFileSync(marker, "");
  await new Promise(() => setInterval(() => undefined, 1000));
});`;
  const child = start(holder, home, marker);
  await until("the other process holds it", () => existsSync(marker));
  const waiting = new IntegrationQueue(home).run("/place", async () => "mine");
  const folder = lockFolderOf(home, "/place", "integration");
  await until("both are in line", () => {
    return readdirSync(folder).filter((name) => /^\d/.test(name)).length === 2;
  });
  child.kill("SIGKILL");
  expect(await waiting).toBe("mine");
  expect(existsSync(folder)).toBe(false);
});

test("a process is known by its start, not by its number alone", () => {
  const me = identifyThisProcess();
  expect(isProcessAlive(me)).toBe(true);
  const [pid, , boot] = me.split(".");
  expect(isProcessAlive(`${pid}.1.${boot}`)).toBe(false);
  expect(isProcessAlive(`${pid}.1.another`)).toBe(false);
  for (const odd of ["", "x", "0.0.0", "-1.1.1", "choosing"])
    expect(isProcessAlive(odd)).toBe(false);
});

test("names of a former boot do not hold anybody up", async () => {
  const home = makeFolder();
  const folder = lockFolderOf(home, "/place", "integration");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `000000000001.${process.pid}.5.00000000.0`), "");
  writeFileSync(join(folder, `choosing.${process.pid}.5.00000000.0`), "");
  expect(await new IntegrationQueue(home).run("/place", async () => 1)).toBe(1);
});
