import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { ManualClock } from "../../testing/manual-clock.ts";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { until } from "../../testing/until.ts";
import {
  countProcesses,
  daemonNamed,
  machine,
  type Setting,
  untilGone,
  whySkipped,
} from "./shell-fixture.test-support.ts";
import { testShell } from "./test-shell.test-support.ts";

let root: string;

beforeEach(() => {
  root = testFolder();
});

const open = (setting: Partial<Setting> = {}) => testShell({ root, ...setting });

describe.skipIf(!machine.isUsable)(`what a command starts${whySkipped}`, () => {
  const isThere = (name: string) => until(`${name} is there`, () => existsSync(join(root, name)));

  it("ends with it, a daemon too", async () => {
    expect(await open().run(daemonNamed(root))).toBe("Exit code 0. No output.");
    await untilGone(root);
  });

  it("ends with the delegation", async () => {
    const clock = new ManualClock();
    const shell = open({ options: { clock } });
    const started = shell.call({ command: `${daemonNamed(root)}; sleep 1000`, background: true });
    await isThere("beat");
    await clock.advance(150);
    expect((await started).text).toContain("It runs in the background as bg-1.");
    expect(countProcesses(root)).toBeGreaterThan(1);
    const released = shell.release("d");
    await clock.advance(2000);
    await released;
    await untilGone(root);
  });

  it("ends with our process, even when that is killed without a word", async () => {
    const script = `
      import { openShell } from ${JSON.stringify(join(import.meta.dirname, "shell-fixture.test-support.ts"))};
      const shell = openShell({ root: ${JSON.stringify(root)} });
      await shell.call({ command: ${JSON.stringify(`${daemonNamed(root)}; sleep 1000`)} });`;
    const node = spawn(process.execPath, ["--input-type=module", "--eval", script], {
      env: { ...process.env, TMPDIR: root },
    });
    const exited = once(node, "exit");
    await isThere("beat");
    expect(countProcesses(root)).toBeGreaterThan(1);
    node.kill("SIGKILL");
    await exited;
    await untilGone(root);
  });

  it("is asked politely first", async () => {
    const clock = new ManualClock();
    const running = open({ options: { clock } }).call({
      command:
        "trap 'echo saved; exit 0' TERM; echo begun; touch ready; while :; do sleep 0.05; done",
      timeout_ms: 800,
    });
    await isThere("ready");
    await clock.advance(800);
    const { text } = await running;
    expect(text).toMatch(/^It took longer than 800 ms and was ended\.\nbegun\n/);
    expect(text).toContain("saved\n");
  });

  it("is killed when it does not listen", async () => {
    const clock = new ManualClock();
    const running = open({ options: { clock } }).call({
      command: "trap '' TERM; echo deaf; touch ready; while :; do sleep 0.05; touch alive; done",
      timeout_ms: 800,
    });
    await isThere("ready");
    await clock.advance(800);
    // It goes on after it was asked, until its time is up.
    rmSync(join(root, "alive"), { force: true });
    await isThere("alive");
    await clock.advance(2000);
    expect((await running).text).toContain("was ended.\ndeaf\n");
    await untilGone(root);
  });

  it("cannot become any number of processes", async () => {
    const shell = open({ options: { limits: { processes: 100 } } });
    const { text } = await shell.call({
      command: "i=0; while [ $i -lt 20000 ]; do sleep 30 & i=$((i+1)); done; echo all; wait",
      timeout_ms: 15_000,
    });
    // As root the runtime counts, for anybody else the system refuses.
    expect(text).toMatch(/more than 100 processes|Cannot fork|Resource temporarily unavailable/);
    expect(text).not.toContain("\nall\n");
  });

  it("may say 100 MB without our memory growing by 20", async () => {
    const shell = open();
    await shell.run("head -c 20000000 /dev/zero | tr '\\0' y");
    const before = process.memoryUsage().rss;
    let highest = before;
    const timer = setInterval(() => {
      highest = Math.max(highest, process.memoryUsage().rss);
    }, 5);
    const { text } = await shell.call({ command: "head -c 100000000 /dev/zero | tr '\\0' x" });
    clearInterval(timer);
    highest = Math.max(highest, process.memoryUsage().rss);
    expect(text).toContain("100000000 bytes of output");
    expect(highest - before).toBeLessThan(20 * 1024 * 1024);
  });

  it("does not begin any more once the runtime closes", async () => {
    const shell = open();
    await shell.run("true");
    await shell.close();
    await expect(shell.call({ command: "true" })).rejects.toThrow("closing");
  });
});
