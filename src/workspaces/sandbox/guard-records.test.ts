import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { bindWorkspace } from "../bind-workspace.ts";
import { GuardRecords } from "./guard-records.ts";
import { NestedGuards } from "./nested-guards.ts";

let root: string;
let folder: string;
let records: GuardRecords;

beforeEach(() => {
  const base = testFolder();
  root = join(base, "work");
  folder = join(base, "guards");
  mkdirSync(root);
  records = new GuardRecords(folder);
});

function write(...paths: string[]): void {
  for (const path of paths) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), "");
  }
}

const enter = () =>
  new NestedGuards({ records }).enter(
    bindWorkspace({ root, isolation: "shared", allowWrites: true }),
  );

/** As if the process that wrote it had been killed. */
function kill(): void {
  const gone = execFileSync("/bin/sh", ["-c", "echo $$"], { encoding: "utf8" }).trim();
  for (const name of readdirSync(folder)) {
    const [id = "", , ...rest] = name.split(".");
    renameSync(join(folder, name), join(folder, [id, gone, ...rest].join(".")));
  }
}

test("what a killed process knew of a place is there until another one has swept it", async () => {
  write("a/.envrc", "lib.git/HEAD", "lib.git/objects/x", "lib.git/refs/x");
  await enter();
  write("b/.envrc", "x/HEAD", "x/objects/y", "x/refs/y");
  mkdirSync(join(root, ".mandate"));
  expect(await records.sweepAbandoned()).toEqual([]);
  kill();
  const [swept, ...others] = await records.sweepAbandoned();
  expect(others).toEqual([]);
  expect(swept).toMatchObject({ root, unseen: [] });
  expect(swept?.planted.map(({ place }) => place).sort()).toEqual([
    join(root, "b/.envrc"),
    join(root, "x"),
  ]);
  expect(readdirSync(root).sort()).toEqual(["a", "b", "lib.git", "x"]);
  expect(readdirSync(join(root, "a"))).toEqual([".envrc"]);
  expect(readdirSync(join(root, "lib.git"))).toContain("HEAD");
  expect(readdirSync(join(root, "x"))).not.toContain("HEAD");
  expect(readdirSync(folder)).toEqual([]);
  expect(await records.sweepAbandoned()).toEqual([]);
});

test("a command that has ended leaves no record", async () => {
  const { leave } = await enter();
  expect(readdirSync(folder)).toHaveLength(1);
  await leave();
  expect(readdirSync(folder)).toEqual([]);
});

test("half a record is removed, and a workspace that is gone is passed over", async () => {
  await enter();
  kill();
  rmSync(root, { recursive: true });
  writeFileSync(join(folder, "x.1.2.3.0"), "{");
  expect(await records.sweepAbandoned()).toEqual([]);
  expect(readdirSync(folder)).toEqual([]);
});
