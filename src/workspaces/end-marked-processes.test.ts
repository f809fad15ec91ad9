import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../ports/clock.ts";
import { until } from "../testing/until.ts";
import { delegationMark, markedProcesses } from "./delegation-mark.ts";
import { endMarkedProcesses } from "./end-marked-processes.ts";
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
  it("ends those of the delegations that are named, of this database, and nobody else", async () => {
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
    // It ends by itself when nobody catches it: the file goes with the test.
    onTestFinished(() => rmSync(alive, { force: true }));
    writeFiles(folder, { alive: "", run: `[ -e ${alive} ] && sh ${folder}/run >/dev/null 2>&1 &` });
    for (let round = 0; round < 5; round++) {
      await startCommand(delegationMark(own)("aaa"), `sh ${folder}/run >/dev/null 2>&1`);
      await delay(20);
      // On a busy machine it may start another between two looks; a second chase catches that one.
      const seen = new Set<number>();
      for (let chase = 0; chase === 0 || (chase < 3 && seen.size > 0); chase++) {
        seen.clear();
        await endMarkedProcesses(own, new Set(["aaa"]), patient);
        for (let look = 0; look < 20; look++) {
          for (const pid of markedProcesses(own).get("aaa") ?? []) seen.add(pid);
          await delay(1);
        }
      }
      expect([...seen], `round ${round}`).toEqual([]);
    }
    expect(existsSync(alive)).toBe(true);
  });
});
