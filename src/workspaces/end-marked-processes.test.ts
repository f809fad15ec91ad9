import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../ports/clock.ts";
import { until } from "../testing/until.ts";
import {
  delegationMark,
  endMarkedProcesses,
  markedProcesses,
  scanMarked,
  signalProcess,
} from "./delegation-mark.ts";
import { makeFolder, writeFiles } from "./git/repository.test-support.ts";

type Marks = Readonly<Record<string, string>>;

async function startCommand(env: Marks, command: string): Promise<number> {
  const child = spawn("/bin/sh", ["-c", `echo; ${command}`], { env: { ...env }, detached: true });
  onTestFinished(() => void child.kill("SIGKILL"));
  await once(child.stdout, "data");
  return child.pid ?? 0;
}

/** However long it takes: a machine that is busy is not what is tested. */
const patient = { ...systemClock, monotonic: () => 0 };

const forgets = "trap '' TERM INT HUP; read line";

describe.runIf(process.platform === "linux")("endMarkedProcesses", () => {
  it("ends the processes of the named delegations of this database, and no others", async () => {
    const home = makeFolder();
    const [own, other] = [join(home, "a.db"), join(home, "b.db")];
    const mark = delegationMark(own);
    await startCommand(mark("aaa"), forgets);
    await startCommand(mark("bbb"), forgets);
    const spared = await startCommand(mark("ccc"), forgets);
    const foreign = await startCommand(delegationMark(other)("aaa"), forgets);
    await endMarkedProcesses(own, new Set(["aaa", "bbb", "ddd"]), patient);
    expect(markedProcesses(own)).toEqual(new Map([["ccc", [spared]]]));
    expect(markedProcesses(other)).toEqual(new Map([["aaa", [foreign]]]));
  });

  it("does not come back before they are gone, with all that they had started", async () => {
    const own = join(makeFolder(), "a.db");
    const many = `for i in 1 2 3 4 5 6 7 8; do sleep 300 >/dev/null 2>&1 & done; ${forgets}`;
    await startCommand(delegationMark(own)("aaa"), many);
    await until("several run", () => (markedProcesses(own).get("aaa")?.length ?? 0) > 1);
    await endMarkedProcesses(own, new Set(["aaa"]), patient);
    expect(markedProcesses(own).size).toBe(0);
  });

  it("catches one that runs away by starting another and ending itself, again and again", async () => {
    const folder = makeFolder();
    const own = join(folder, "a.db");
    const alive = join(folder, "alive");
    // It ends by itself when it is not caught: the file goes with the test.
    onTestFinished(() => rmSync(alive, { force: true }));
    writeFiles(folder, { alive: "", run: `[ -e ${alive} ] && echo && sh ${folder}/run &` });
    for (let round = 0; round < 5; round++) {
      const runaway = spawn("/bin/sh", [join(folder, "run")], {
        ...{ env: { ...delegationMark(own)("aaa") }, detached: true },
        stdio: ["ignore", "pipe", "ignore"],
      });
      let generations = 0;
      let isOver = false;
      runaway.stdout.on("data", (said: Buffer) => (generations += said.length));
      // Each generation holds the pipe that the first one was given.
      runaway.stdout.on("close", () => (isOver = true));
      await until("some have run", () => generations > 3);
      await endMarkedProcesses(own, new Set(["aaa"]), patient);
      const caught = generations;
      await until("it is caught or still runs", () => isOver || generations > caught + 20);
      expect(isOver, `round ${round}`).toBe(true);
    }
  });

  it("takes a zombie as having ended during the first scan that sees it, and as known from then on", async () => {
    // The shell becomes a program that never asks how its child ended.
    const parent = spawn("/bin/sh", ["-c", "sleep 300 & echo $!; exec sleep 300"], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    onTestFinished(() => void parent.kill("SIGKILL"));
    const [said] = (await once(parent.stdout, "data")) as [Buffer];
    const zombie = Number(said.toString());
    onTestFinished(() => signalProcess(zombie, "SIGKILL"));
    const nameOf = (pid = 0) => readFileSync(`/proc/${pid}/comm`, "latin1").trim();
    await until("the shell has become that program", () => nameOf(parent.pid) === "sleep");
    signalProcess(zombie, "SIGKILL");
    const database = join(makeFolder(), "a.db");
    const ended = new Set<number>();
    await until("it is a zombie", () => {
      const hasSeenAll = scanMarked(database, () => undefined, ended);
      if (ended.has(zombie)) expect(hasSeenAll).toBe(false);
      return ended.has(zombie);
    });
  });
});
