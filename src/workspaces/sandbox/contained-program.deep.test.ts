import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../ports/clock.ts";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { until } from "../../testing/until.ts";
import { doorToLoopback } from "../egress/bridge.ts";
import { type ContainedStart, startContained } from "./contained-program.ts";
import { detectSandbox } from "./detect-sandbox.ts";
import { defaultLimits } from "./resource-limits.ts";
import { createScratchFolder, removeScratchFolder } from "./scratch-folder.ts";

const machine = detectSandbox(process.env);
const why = machine.isUsable ? "" : ` (skipped: ${machine.problem})`;

let root: string;
let scratch: string;

beforeEach(() => {
  root = testFolder();
  scratch = createScratchFolder();
  onTestFinished(() => removeScratchFolder(scratch));
});

function start(command: string, more: Partial<ContainedStart> = {}, limits = defaultLimits) {
  if (!machine.isUsable) throw new Error(machine.problem);
  const { programs, sandbox } = machine;
  const program = startContained(
    { sandbox, programs, environment: process.env, limits, clock: systemClock },
    {
      policy: {
        ...{ root, allowWrites: true, writeRoots: [root], isThrowaway: true, scratch },
        ...{ forbidden: [], guarded: [], visible: [], ownsGit: false },
      },
      argv: ["/bin/sh", "-c", command],
      cwd: root,
      input: "pipe",
      ...more,
    },
  );
  onTestFinished(() => program.kill());
  let said = "";
  let complained = "";
  program.child.stdout?.on("data", (chunk: Buffer) => (said += chunk.toString()));
  program.child.stderr?.on("data", (chunk: Buffer) => (complained += chunk.toString()));
  const ended = once(program.child, "close").then(() => ({ said, complained }));
  return { program, ended, said: () => said };
}

describe.skipIf(!machine.isUsable)(`a program in a sandbox${why}`, () => {
  it("speaks over its pipes, in a home with files that were made for it", async () => {
    writeFileSync(join(scratch, "home/settings.json"), '{"model":"m"}');
    const { program, ended } = start("cat ~/settings.json; cat; echo bad >&2");
    program.child.stdin?.end("hello\n");
    expect(await ended).toEqual({ said: '{"model":"m"}hello\n', complained: "bad\n" });
  });

  it("reaches a server on the loopback of this machine by its door, and no other", async () => {
    const gateway = createServer((asked, answer) => answer.end(`gateway ${asked.url}\n`));
    gateway.listen(0, "127.0.0.1");
    await once(gateway, "listening");
    onTestFinished(() => void gateway.close());
    const { port } = gateway.address() as AddressInfo;
    const doors = new Map([[8080, doorToLoopback(port)]]);
    const { program, ended } = start(
      `curl -s http://127.0.0.1:8080/v1; curl -s http://127.0.0.1:${port}/direct || echo closed`,
      { doors },
    );
    program.child.stdin?.end();
    expect((await ended).said).toBe("gateway /v1\nclosed\n");
  });

  it("shows what it does not get: no variable of this process, no other temporary file", async () => {
    writeFileSync(join(scratch, "tmp/own"), "");
    const { ended } = start("env | cut -d= -f1 | sort | tr '\\n' ' '; ls /tmp", {
      input: "ignore",
    });
    const { said } = await ended;
    expect(said).toMatch(/\bown\n/);
    expect(said).not.toMatch(/VITEST|NODE_OPTIONS|MANDATE/);
  });

  it("ends with all that it started when this process is killed without a word", async () => {
    const marker = `contained-${process.pid}`;
    const command =
      `(setsid sh -c ': ${marker}; trap "" TERM HUP; while :; do sleep 0.1; done' &) ; ` +
      `touch begun; : ${marker}; while :; do sleep 0.1; done`;
    const owner = spawn(
      process.execPath,
      [join(import.meta.dirname, "contained-owner.test-support.ts"), root, scratch, command],
      { stdio: "ignore" },
    );
    onTestFinished(() => void owner.kill("SIGKILL"));
    await until("it has begun", () => existsSync(join(root, "begun")));
    owner.kill("SIGKILL");
    await once(owner, "exit");
    await until("nothing is left", () => processesOf(marker).length === 0);
  });

  it("is ended with a reason when its processes use too much memory together", async () => {
    const command = `for i in 1 2 3 4 5 6 7 8; do /usr/bin/python3 -c 'import time; x = b"x" * 60_000_000; time.sleep(60)' & done; wait`;
    const { program, ended } = start(
      command,
      { input: "ignore" },
      { processes: 64, memoryMb: 256 },
    );
    await ended;
    expect(program.exceeded()).toBe("It used more than 256 MB of memory and was ended.");
    expect(program.processes()).toEqual([]);
  });
});

/** Processes of the machine, apart from the owner, whose command line has the marker. */
function processesOf(marker: string): readonly string[] {
  return readdirSync("/proc").filter((entry) => {
    try {
      const line = readFileSync(`/proc/${entry}/cmdline`, "latin1");
      return /^\d+$/.test(entry) && line.includes(`: ${marker};`);
    } catch {
      return false;
    }
  });
}
