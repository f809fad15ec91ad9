import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { createControlGroup, findDelegatedGroup } from "./control-group.ts";

let root: string;
const limits = { memoryMb: 512, processes: 100 };

beforeEach(() => {
  root = testFolder();
});

/** The files of a group, as the kernel shows them. */
function makeGroup(path: string, handsOn: string): string {
  const folder = join(root, path);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "cgroup.subtree_control"), `${handsOn}\n`);
  writeFileSync(join(folder, "cgroup.procs"), "");
  return folder;
}

it("is made beside our own, where the group above hands on memory and processes", () => {
  const above = makeGroup("app.slice", "cpu memory pids");
  makeGroup("app.slice/ours.scope", "");
  expect(findDelegatedGroup(root, "/app.slice/ours.scope")).toBe(above);
});

it("is not made where a controller is missing, or outside of the tree", () => {
  makeGroup("app.slice", "cpu memory");
  makeGroup("app.slice/ours.scope", "");
  expect(findDelegatedGroup(root, "/app.slice/ours.scope")).toBeUndefined();
  expect(findDelegatedGroup(join(root, "app.slice"), "/")).toBeUndefined();
  expect(findDelegatedGroup(root, undefined)).toBeUndefined();
});

it.skipIf(process.getuid?.() === 0)("is not made in a group that belongs to another user", () => {
  const above = makeGroup("system.slice", "memory pids");
  makeGroup("system.slice/ours.service", "");
  chmodSync(above, 0o555);
  expect(findDelegatedGroup(root, "/system.slice/ours.service")).toBeUndefined();
  chmodSync(above, 0o755);
});

it("has the limits, takes a process, and says what it ran into", () => {
  const above = makeGroup("app.slice", "memory pids");
  const group = createControlGroup(above, "1-a", limits);
  const folder = join(above, "mandate-1-a");
  const read = (file: string) => readFileSync(join(folder, file), "utf8");
  group.add(4242);
  expect([read("memory.max"), read("pids.max"), read("cgroup.procs")]).toEqual([
    "536870912",
    "100",
    "4242",
  ]);
  expect(group.exceeded()).toBeUndefined();
  writeFileSync(join(folder, "memory.events"), "low 0\nmax 3\noom_kill 0\n");
  expect(group.exceeded()).toBeUndefined();
  writeFileSync(join(folder, "memory.events"), "low 0\nmax 3\noom_kill 2\n");
  expect(group.exceeded()).toBe("It used more than 512 MB of memory and was ended.");
  group.kill();
  expect(read("cgroup.kill")).toBe("1");
});

it("leaves nothing where the limits cannot be set", () => {
  const missing = join(root, "missing");
  expect(() => createControlGroup(missing, "1-a", limits)).toThrow();
  expect(existsSync(missing)).toBe(false);
  expect(readdirSync(root)).toEqual([]);
});
