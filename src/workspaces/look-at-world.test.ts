import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, lstatSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { lookAtWorld } from "./check-world.ts";
import { delegationMark, markedProcesses } from "./delegation-mark.ts";
import { collectChanges } from "./git/copies/collect-changes.ts";
import { createWorkingCopy } from "./git/copies/create-working-copy.ts";
import { lockFolderOf } from "./git/copies/working-copy.ts";
import { acquirePlaceLock, sweepPlaceLocks } from "./git/integration/integration-queue.ts";
import { recoverIntegration } from "./git/integration/recover-integration.ts";
import {
  fingerprint,
  makeFolder,
  makeRepository,
  writeFiles,
} from "./git/repository.test-support.ts";

const look = (home: string) => lookAtWorld({ home, database: join(home, "mandate.db") });

/** Starts something that waits to be killed, and waits until it is there. */
async function startWaiting(env: Readonly<Record<string, string>>): Promise<number> {
  const child = spawn("/bin/sh", ["-c", "echo; read line"], { env: { ...env } });
  onTestFinished(() => void child.kill("SIGKILL"));
  await once(child.stdout, "data");
  return child.pid ?? 0;
}

describe("lookAtWorld", () => {
  it("sees nothing where there is nothing", () => {
    const nothing = { copies: [], strays: [], merges: [], tickets: [], processes: new Map() };
    expect(look(makeFolder())).toMatchObject(nothing);
    expect(look("/nonexistent/home")).toMatchObject(nothing);
  });

  it("tells copies from what is left of some, and changes nothing", async () => {
    const home = makeFolder();
    const source = makeRepository();
    for (const id of ["whole", "folderless", "half"]) await createWorkingCopy({ source, id, home });
    await createWorkingCopy({ source: join(home, "worktrees/whole"), id: "nested", home });
    rmSync(join(home, "worktrees/folderless"), { recursive: true });
    // This process is making it, as far as anybody can tell.
    rmSync(join(home, "copies/half/copy.json"));
    mkdirSync(join(home, "worktrees/whole.merged.1.2.3.4"));
    writeFiles(home, { "worktrees/.removing-x-1/file": "x", "copies/gone/vault.git/HEAD": "x" });
    writeFiles(home, { "copies/gone/holder": "1.2.3.4" });
    const before = fingerprint(home);
    const { copies, strays } = look(home);
    expect(fingerprint(home)).toBe(before);
    expect(copies).toEqual([
      { id: "folderless", hasFolder: false, isHeld: true, madeOf: null },
      { id: "nested", hasFolder: true, isHeld: true, madeOf: "whole" },
      { id: "whole", hasFolder: true, isHeld: true, madeOf: null },
    ]);
    expect(strays.map(({ path }) => path)).toEqual([
      join(home, "worktrees/.removing-x-1"),
      join(home, "worktrees/whole.merged.1.2.3.4"),
      join(home, "copies/gone"),
    ]);
    for (const { path, since } of strays) expect(since).toBe(lstatSync(path).ctimeMs);
  });

  it("finds a merge that a killed process left, until it is recovered", async () => {
    const home = makeFolder();
    const source = makeRepository({ "a.txt": "a\n", "b.txt": "b\n" });
    const copy = await createWorkingCopy({ source, id: "one", home });
    writeFiles(copy.root, { "a.txt": "A\n", "b.txt": "B\n" });
    const changes = join(home, "changes.json");
    writeFileSync(changes, JSON.stringify(await collectChanges(copy)));
    const script = join(import.meta.dirname, "git/integration/integrate-and-die.test-support.ts");
    const args = ["--no-warnings", script, "integrate", home, "one", changes, "3"];
    expect(spawnSync(process.execPath, args).signal).toBe("SIGKILL");
    expect(look(home).merges).toEqual([{ id: "one", into: source, isHeld: false }]);
    const dead = look(home).tickets;
    expect(dead.length).toBeGreaterThan(0);
    expect(dead.every(({ isHeld }) => !isHeld)).toBe(true);
    const release = await acquirePlaceLock(lockFolderOf(home, source, "files"));
    expect(look(home).merges).toEqual([{ id: "one", into: source, isHeld: true }]);
    expect(look(home).tickets.filter(({ isHeld }) => isHeld)).toHaveLength(1);
    release();
    await recoverIntegration(home);
    sweepPlaceLocks(home);
    expect(look(home)).toMatchObject({ merges: [], tickets: [] });
  });

  it("sees a journal that cannot be read", () => {
    const home = makeFolder();
    writeFiles(home, { "integrations/x.json": "{", "integrations/y.json": "null" });
    writeFiles(home, { "integrations/z.json.new": "half" });
    expect(look(home).merges.map(({ id, into }) => [id, into])).toEqual([
      ["x", null],
      ["y", null],
    ]);
  });

  it("finds no ticket in an unused queue", async () => {
    const home = makeFolder();
    const folder = lockFolderOf(home, "/somewhere", "integration");
    (await acquirePlaceLock(folder))();
    expect(existsSync(folder)).toBe(false);
    expect(look(home).tickets).toEqual([]);
  });
});

describe.runIf(process.platform === "linux")("markedProcesses", () => {
  it("finds processes by delegation, and none of another database with the same ids", async () => {
    const home = makeFolder();
    const [own, other] = [join(home, "a.db"), join(home, "b.db")];
    const mark = delegationMark(own);
    const first = await startWaiting(mark("abc123"));
    const checks = await startWaiting(mark("abc123 checks"));
    const second = await startWaiting(mark("def456"));
    const foreign = await startWaiting(delegationMark(other)("abc123"));
    const found = markedProcesses(own);
    expect(found.get("abc123")?.toSorted()).toEqual([first, checks].toSorted());
    expect([...found.keys()].toSorted()).toEqual(["abc123", "def456"]);
    expect(found.get("def456")).toEqual([second]);
    expect(markedProcesses(other)).toEqual(new Map([["abc123", [foreign]]]));
  });

  it("knows a database by where it lies, whatever way leads there", async () => {
    const folder = makeFolder();
    writeFiles(folder, { "real/x": "", way: { link: "real" } });
    const pid = await startWaiting(delegationMark(join(folder, "way/mandate.db"))("abc123"));
    expect(markedProcesses(join(folder, "real/mandate.db"))).toEqual(new Map([["abc123", [pid]]]));
  });
});
