import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { repeatBeside } from "../busy-thread.test-support.ts";
import { Placeholders, planGuards } from "./guarded-places.ts";
import type { SandboxPolicy } from "./sandbox.ts";

let root: string;

beforeEach(() => {
  root = testFolder();
  mkdirSync(join(root, ".git"));
  mkdirSync(join(root, "a/b"), { recursive: true });
});

const at = (...names: string[]) => names.map((name) => join(root, name));

function plan(changes: Partial<SandboxPolicy> = {}) {
  return planGuards({
    ...{ root, writeRoots: [root], allowWrites: true, forbidden: [], guarded: [], visible: [] },
    ...{ ownsGit: false, scratch: "/scratch" },
    ...changes,
  });
}

describe("the guards inside a workspace", () => {
  it("cover what is missing, and pin the folders above what exists", () => {
    const { pinned, readOnly, covered, missing } = plan({ guarded: at("a/b", "x/y") });
    expect(pinned).toEqual(at("a"));
    expect([...readOnly].sort()).toEqual(at(".git", "a/b"));
    expect([...missing].sort()).toEqual(
      at(".codex", ".gemini", ".mandate", ".opencode", "mandate.yaml", "profiles", "x"),
    );
    expect(covered.map(({ place }) => place).sort()).toEqual([...missing].sort());
  });

  it("are not needed where nothing can be written, except to hide", () => {
    const readOnly = plan({ allowWrites: false, forbidden: at("a/b", "none") });
    expect(readOnly).toEqual({
      ...{ pinned: [], readOnly: [], missing: [] },
      covered: [{ place: join(root, "a/b"), kind: "folder" }],
    });
    expect(plan({ writeRoots: at("a"), guarded: at("x") }).missing).toEqual([]);
  });

  it("leave nothing to write where a guarded folder is around a write root", () => {
    expect(plan({ writeRoots: at("a/b"), guarded: at("a") }).readOnly).toEqual(at("a/b"));
  });

  it("keep a file on the way to what is missing", () => {
    writeFileSync(join(root, "file"), "");
    const { readOnly, missing } = plan({ guarded: at("file/x/y") });
    expect(readOnly).toContain(join(root, "file"));
    expect(missing).not.toContain(join(root, "file/x"));
  });

  it("close parts of git in a working copy, all of it elsewhere", () => {
    writeFileSync(join(root, ".git/config"), "");
    mkdirSync(join(root, ".git/objects"));
    const own = plan({ ownsGit: true });
    expect(own.pinned).toEqual(at(".git", ".git/objects"));
    expect(own.readOnly).toEqual(at(".git/config"));
    expect(own.missing).toEqual(expect.arrayContaining(at(".git/hooks", ".git/info")));
    expect(plan().readOnly).toEqual(at(".git"));
  });
});

describe("placeholders", () => {
  it("stay until the last one who needs them has gone, and go only when empty", () => {
    const placeholders = new Placeholders();
    const [first = "", second = "", other = ""] = at("one", "two", "a");
    placeholders.hold("x", root, [first, second]);
    placeholders.hold("y", root, []);
    placeholders.hold("z", other, []);
    placeholders.release("x");
    expect([existsSync(first), existsSync(second)]).toEqual([true, true]);
    writeFileSync(join(second, "kept"), "");
    placeholders.release("y");
    expect([existsSync(first), existsSync(second)]).toEqual([false, true]);
  });

  it("leave alone what was there before", () => {
    const placeholders = new Placeholders();
    placeholders.hold("x", root, at("a/b"));
    placeholders.release("x");
    expect(existsSync(join(root, "a/b"))).toBe(true);
  });

  it("of several processes at one moment are one", async () => {
    const placeholders = new Placeholders();
    const body = "attempt(() => fs.mkdirSync(place)); attempt(() => fs.rmdirSync(place));";
    const work = () => {
      placeholders.hold("x", root, at("one"));
      placeholders.release("x");
    };
    await repeatBeside(body, join(root, "one"), work, 1000);
  });
});
