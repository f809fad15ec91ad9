import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { testFolder } from "../testing/test-folder.test-support.ts";
import { bindWorkspace, type WorkspaceRequest } from "./bind-workspace.ts";

let base: string;

beforeEach(() => {
  base = testFolder();
  mkdirSync(join(base, "app/src"), { recursive: true });
});

function bind(request: Partial<WorkspaceRequest>) {
  const defaults = { root: join(base, "app"), isolation: "shared", allowWrites: true } as const;
  return bindWorkspace({ ...defaults, ...request });
}

test("the root is bound where it really is", () => {
  symlinkSync("app", join(base, "alias"));
  expect(bind({ root: join(base, "alias") }).root).toBe(join(base, "app"));
});

test("a root that does not exist, or is a file, is refused in words", () => {
  writeFileSync(join(base, "file"), "");
  expect(() => bind({ root: join(base, "gone") })).toThrow(/does not exist or cannot be opened/);
  expect(() => bind({ root: join(base, "file") })).toThrow(/is a file. Choose a folder/);
});

test("without write roots all of the workspace may be written, and none of a read-only one", () => {
  expect(bind({}).writeRoots).toEqual([join(base, "app")]);
  expect(bind({ allowWrites: false }).writeRoots).toEqual([]);
  expect(bind({ allowWrites: false, writeRoots: ["src"] }).writeRoots).toEqual([]);
});

test("an empty list of write roots means none", () => {
  expect(bind({ writeRoots: [] }).writeRoots).toEqual([]);
});

test("write roots are resolved below the root, also those that do not exist yet", () => {
  const { writeRoots } = bind({ writeRoots: ["src", "new/deep"] });
  expect(writeRoots).toEqual([join(base, "app/src"), join(base, "app/new/deep")]);
});

test("a write root above the workspace shrinks to it; one elsewhere is refused", () => {
  expect(bind({ writeRoots: [base] }).writeRoots).toEqual([join(base, "app")]);
  expect(() => bind({ writeRoots: ["../other"] })).toThrow(/outside the workspace/);
  symlinkSync("/", join(base, "app/everything"));
  expect(() => bind({ writeRoots: ["everything/etc"] })).toThrow(/outside the workspace/);
});

test("a workspace inside the runtime's own folder is refused unless it is a working copy", () => {
  const home = join(base, "home");
  const copy = join(home, "worktrees/one");
  mkdirSync(copy, { recursive: true });
  const forbidden = [home];
  const workingCopies = join(home, "worktrees");
  expect(() => bind({ root: home, forbidden, workingCopies })).toThrow(/its own data/);
  expect(() => bind({ root: workingCopies, forbidden, workingCopies })).toThrow(/its own data/);
  expect(() => bind({ root: copy, forbidden })).toThrow(/its own data/);
  expect(bind({ root: copy, forbidden, workingCopies }).forbidden).toEqual([]);
});

test("a forbidden folder that does not exist yet is remembered by its real place", () => {
  symlinkSync("app", join(base, "alias"));
  const { forbidden } = bind({ forbidden: [join(base, "alias/later/home")] });
  expect(forbidden).toEqual([join(base, "app/later/home")]);
});
