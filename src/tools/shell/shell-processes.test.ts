import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  machine,
  makeFolder,
  type OpenedShell,
  openShell,
  whySkipped,
} from "./shell-fixture.test-support.ts";

let root: string;
const opened: OpenedShell[] = [];

beforeEach(() => {
  root = makeFolder("processes");
});

afterEach(async () => {
  await Promise.all(opened.splice(0).map((shell) => shell.close()));
  rmSync(root, { recursive: true, force: true });
});

function open(setting: Partial<Parameters<typeof openShell>[0]> = {}): OpenedShell {
  const shell = openShell({ root, ...setting });
  opened.push(shell);
  return shell;
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** A daemon by the book: two forks, a session of its own, deaf to every polite signal. */
const daemon = `(setsid sh -c "trap '' TERM HUP INT QUIT
  (while :; do date +%s%N > beat; sleep 0.05; done) &" </dev/null >/dev/null 2>&1 &)
  while [ ! -e beat ]; do sleep 0.02; done`;

async function isBeating(): Promise<boolean> {
  const beat = join(root, "beat");
  const before = readFileSync(beat, "utf8");
  await pause(300);
  return readFileSync(beat, "utf8") !== before;
}

/** Processes of the machine whose command line holds this text. */
function countProcesses(text: string): number {
  return readdirSync("/proc").filter((entry) => {
    try {
      return /^\d+$/.test(entry) && readFileSync(`/proc/${entry}/cmdline`, "latin1").includes(text);
    } catch {
      return false;
    }
  }).length;
}

describe.skipIf(!machine.isUsable)(`what a command starts${whySkipped}`, () => {
  it("ends with it, a daemon too", async () => {
    expect(await open().run(daemon)).toBe("Exit code 0. No output.");
    expect(await isBeating()).toBe(false);
  });

  it("ends within five seconds of the delegation", async () => {
    const shell = open();
    await shell.call({ command: `${daemon}; sleep 1000`, background: true });
    while (!existsSync(join(root, "beat"))) await pause(20);
    expect(await isBeating()).toBe(true);
    const began = performance.now();
    await shell.release("d");
    expect(performance.now() - began).toBeLessThan(5000);
    expect(await isBeating()).toBe(false);
    expect(countProcesses(root)).toBe(0);
  });

  it("ends with our process, even when that is killed without a word", async () => {
    const script = `
      import { openShell } from ${JSON.stringify(join(import.meta.dirname, "shell-fixture.test-support.ts"))};
      const shell = openShell({ root: ${JSON.stringify(root)} });
      await shell.call({ command: ${JSON.stringify(`${daemon}; sleep 1000`)} });`;
    const node = spawn(process.execPath, ["--input-type=module", "--eval", script], {
      env: { ...process.env, TMPDIR: root },
    });
    while (!existsSync(join(root, "beat"))) await pause(20);
    node.kill("SIGKILL");
    await once(node, "exit");
    await pause(200);
    expect(await isBeating()).toBe(false);
    expect(countProcesses(root)).toBe(0);
  });

  it("is asked politely first", async () => {
    const { text } = await open().call({
      command: "trap 'echo saved; exit 0' TERM; echo begun; while :; do sleep 0.05; done",
      timeout_ms: 800,
    });
    expect(text).toMatch(/^It took longer than 800 ms and was ended\.\nbegun\n/);
    expect(text).toContain("saved\n");
  });

  it("is killed when it does not listen", async () => {
    const began = performance.now();
    const { text } = await open().call({
      command: "trap '' TERM; echo deaf; while :; do sleep 0.05; done",
      timeout_ms: 800,
    });
    expect(text).toContain("was ended.\ndeaf\n");
    expect(performance.now() - began).toBeLessThan(5000);
    expect(countProcesses(root)).toBe(0);
  });

  it("cannot become any number of processes", async () => {
    const shell = open({ options: { maximumProcesses: 100 } });
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
