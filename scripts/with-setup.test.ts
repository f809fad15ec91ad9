import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { testFolder } from "../src/testing/test-folder.test-support.ts";

/** npm's part: notes each call, and brings Node and the hidden lockfile as npm ci does. */
const standInForNpm = `#!/bin/sh
echo "$1" >> npm-calls
while [ -n "$NPM_WAITS_FOR" ] && [ ! -e "$NPM_WAITS_FOR" ]; do sleep 0.02; done
if [ -n "$NPM_ERROR" ]; then echo "$NPM_ERROR" >&2; exit 1; fi
if [ "$1" = ci ]; then
  rm -rf node_modules; mkdir -p node_modules/.bin
  cp package-lock.json node_modules/.package-lock.json
  if [ -n "$NPM_WITHOUT_SCRIPTS" ]; then exit 0; fi
fi
[ "$1" = install ] || ln -s "$REAL_NODE" node_modules/.bin/node
`;

let clone: string;

beforeEach(() => {
  clone = testFolder();
  makeClone();
});

function makeClone() {
  mkdirSync(join(clone, "scripts"), { recursive: true });
  mkdirSync(join(clone, "path"));
  for (const file of ["with-setup.mjs", "lock.mjs"]) {
    cpSync(join(import.meta.dirname, file), join(clone, "scripts", file));
  }
  writeFileSync(join(clone, "path", "npm"), standInForNpm);
  chmodSync(join(clone, "path", "npm"), 0o755);
  writeLockfile("1.0.0");
}

function writeLockfile(version: string, more: object = {}) {
  const packages = { "": { version: "0.1.0" }, "node_modules/thing": { version }, ...more };
  writeFileSync(join(clone, "package-lock.json"), JSON.stringify({ packages }));
}

function npmCalls(): string[] {
  try {
    return readFileSync(join(clone, "npm-calls"), "utf8").trim().split("\n");
  } catch {
    return [];
  }
}

function start(command: string[], environment: Record<string, string> = {}) {
  const path = [join(clone, "path"), dirname(process.execPath), process.env["PATH"]];
  const child = spawn(process.execPath, [join(clone, "scripts/with-setup.mjs"), ...command], {
    cwd: clone,
    env: {
      ...process.env,
      PATH: path.join(delimiter),
      REAL_NODE: process.execPath,
      ...environment,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk) => {
    stdout += chunk;
  });
  child.stderr.on("data", (chunk) => {
    stderr += chunk;
  });
  const ended = new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve) => {
    child.on("close", (code) => resolve({ code, stdout, stderr }));
  });
  const saw = (text: string) =>
    new Promise<void>((resolve) => {
      const look = () => (stdout.includes(text) || stderr.includes(text)) && resolve();
      child.stdout.on("data", look);
      child.stderr.on("data", look);
    });
  return { child, ended, saw };
}

const run = (command: string[], environment?: Record<string, string>) =>
  start(command, environment).ended;

describe("with-setup", () => {
  test("installs once, says so on stderr, and is silent afterwards", async () => {
    const first = await run(["sh", "-c", "command -v node"]);
    expect(first.stderr).toContain("installing 1 packages (npm ci), once");
    expect(first.stdout.trim()).toBe(join(clone, "node_modules/.bin/node"));
    const second = await run(["true"]);
    expect(second).toEqual({ code: 0, stdout: "", stderr: "" });
    expect(npmCalls()).toEqual(["ci"]);
  });

  test("runs mandate in the folder in which the person called npm", async () => {
    mkdirSync(join(clone, "dist"));
    writeFileSync(join(clone, "dist", "mandate.js"), "console.log(process.cwd(), process.argv[2])");
    const elsewhere = testFolder();
    const { stdout } = await run(["mandate", "ls"], { INIT_CWD: elsewhere });
    expect(stdout).toBe(`${elsewhere} ls\n`);
  });

  test("installs again when the lockfile changed", async () => {
    await run(["true"]);
    writeLockfile("1.0.1");
    await run(["true"]);
    expect(npmCalls()).toEqual(["ci", "ci"]);
  });

  test("accepts what somebody installed by hand when it is what the lockfile names", async () => {
    await run(["true"]);
    rmSync(join(clone, "node_modules/.mandate-setup"));
    await run(["true"]);
    expect(npmCalls()).toEqual(["ci"]);
  });

  test("fetches Node itself where install scripts are switched off", async () => {
    const { code } = await run(["true"], { NPM_WITHOUT_SCRIPTS: "1" });
    expect(code).toBe(0);
    expect(npmCalls()).toEqual(["ci", "rebuild"]);
  });

  test("brings the optional packages that are too new for npm's own Node", async () => {
    const optional = { version: "1.0.0", optional: true };
    writeLockfile("1.0.0", { "node_modules/screen": optional });
    await run(["true"]);
    expect(npmCalls()).toEqual(["ci", "install"]);
    rmSync(clone, { recursive: true });
    makeClone();
    writeLockfile("1.0.0", { "node_modules/elsewhere": { ...optional, os: ["aix"] } });
    await run(["true"]);
    expect(npmCalls()).toEqual(["ci"]);
  });

  test("without a network: one sentence, exit 1, and the next call tries again", async () => {
    const failed = await run(["echo", "ran"], { NPM_ERROR: "npm error code ENOTFOUND" });
    expect(failed.code).toBe(1);
    expect(failed.stdout).toBe("");
    expect(failed.stderr).toContain("the package registry cannot be reached");
    expect((await run(["echo", "ran"])).stdout).toBe("ran\n");
  });

  test("two at once install once", async () => {
    const environment = { NPM_WAITS_FOR: join(clone, "go") };
    const runs = [1, 2].map(() => start(["echo", "ran"], environment));
    await Promise.race(runs.map(({ saw }) => saw("waiting for the set-up")));
    writeFileSync(environment.NPM_WAITS_FOR, "");
    const both = await Promise.all(runs.map(({ ended }) => ended));
    expect(both.map((one) => one.stdout)).toEqual(["ran\n", "ran\n"]);
    expect(npmCalls()).toEqual(["ci"]);
  });

  test("takes over the lock of a process that is gone", async () => {
    const gone = start(["true"]);
    await gone.ended;
    rmSync(join(clone, "node_modules"), { recursive: true });
    mkdirSync(join(clone, ".setup-lock"));
    const owner = { pid: gone.child.pid, host: hostname() };
    writeFileSync(join(clone, ".setup-lock/owner.json"), JSON.stringify(owner));
    expect((await run(["echo", "ran"])).stdout).toBe("ran\n");
  });

  test("passes the exit code through", async () => {
    expect((await run(["sh", "-c", "exit 7"])).code).toBe(7);
    expect((await run(["no-such-command"])).code).toBe(127);
  });

  test.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)("passes %s on to the command and exits %i", async (signal, code) => {
    const running = start([
      process.execPath,
      "-e",
      "setInterval(() => {}, 1000); console.log('started')",
    ]);
    await running.saw("started");
    running.child.kill(signal);
    expect((await running.ended).code).toBe(code);
  });

  test("ends the command when npm's shell was ended, and nobody passed that on", async () => {
    await run(["true"]);
    const program = "setInterval(() => {}, 1000); console.log('started', process.pid)";
    const script = `"${process.execPath}" scripts/with-setup.mjs "${process.execPath}" -e "${program}"; true`;
    const shell = spawn("sh", ["-c", script], {
      cwd: clone,
      env: { ...process.env, npm_lifecycle_event: "start" },
      stdio: ["ignore", "pipe", "ignore"],
    });
    await once(shell.stdout, "data");
    shell.kill("SIGKILL");
    // The pipe is closed when nobody is left who could write to it.
    await once(shell.stdout, "close");
  });

  test("interrupted during the installation: exit 130, no lock left behind", async () => {
    const running = start(["echo", "ran"], { NPM_WAITS_FOR: join(clone, "go") });
    await running.saw("npm ci");
    running.child.kill("SIGINT");
    expect(await running.ended).toMatchObject({ code: 130, stdout: "" });
    expect((await run(["echo", "ran"])).stdout).toBe("ran\n");
  });
});
