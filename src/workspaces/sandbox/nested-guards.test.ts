import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { bindWorkspace } from "../bind-workspace.ts";
import { NestedGuards } from "./nested-guards.ts";

let base: string;
let root: string;

beforeEach(() => {
  base = testFolder();
  root = join(base, "work");
  mkdirSync(root);
});

const at = (...names: string[]) => names.map((name) => join(root, name));

function write(...names: string[]): void {
  for (const place of at(...names)) {
    mkdirSync(dirname(place), { recursive: true });
    writeFileSync(place, "");
  }
}

function enter(guards = new NestedGuards(), writeRoots?: readonly string[]) {
  const roots = writeRoots === undefined ? {} : { writeRoots };
  return guards.enter(bindWorkspace({ root, isolation: "shared", allowWrites: true, ...roots }));
}

/** A repository with entries that say: here is another one. */
function makeRepository(folder: string, ...links: string[]): void {
  execFileSync("git", ["init", "--quiet", join(root, folder)]);
  for (const link of links) {
    const entry = `160000,${"1".repeat(40)},${link}`;
    execFileSync("git", ["-C", join(root, folder), "update-index", "--add", "--cacheinfo", entry]);
  }
}

describe("what a command is kept from", () => {
  it("is each repository, and each place where one of them looks for another", async () => {
    makeRepository(".", "lib", "empty", "missing/deep");
    makeRepository("lib", "inner");
    mkdirSync(join(root, "empty"));
    const { places, remark } = await enter();
    const expected = at(".git", "empty", "lib/.git", "lib/inner", "missing/deep");
    expect([...places].sort()).toEqual(expected);
    expect(remark).toBeUndefined();
  });

  it("is what the repository around the workspace looks for as well", async () => {
    makeRepository("..", "work/a", "elsewhere");
    expect((await enter()).places).toEqual(at("a"));
  });

  it("is read again when the index has changed", async () => {
    makeRepository(".", "a");
    const guards = new NestedGuards();
    expect((await enter(guards)).places).toEqual(at("a", ".git"));
    makeRepository(".", "b");
    expect((await enter(guards)).places).toEqual(at("a", "b", ".git"));
  });

  it("is said where a folder with something in it is closed", async () => {
    makeRepository(".", "used");
    write("used/file");
    expect((await enter()).remark).toContain('"used"');
  });

  it("is looked for below the write roots alone", async () => {
    write("in/a/.git/HEAD", "out/.git/HEAD");
    expect((await enter(new NestedGuards(), ["in"])).places).toEqual(at("in/a/.git"));
  });

  it("is closed together with what is around it where there are too many", async () => {
    write(...Array.from({ length: 200 }, (_, index) => `many/${index}/mandate.yaml`));
    write("mandate.yaml");
    const { places, remark } = await enter();
    expect([...places].sort()).toEqual(at("mandate.yaml", "many"));
    expect(remark).toContain(': "many".');
  });
});

describe("what has appeared when a command has ended", () => {
  it("is set aside when it took the place of a repository, and not of a saved file", async () => {
    write("a/.git/HEAD", "a/mandate.yaml");
    const { leave } = await enter();
    renameSync(join(root, "a/.git"), join(root, "a/old"));
    write("a/.git/HEAD", "a/saved");
    renameSync(join(root, "a/saved"), join(root, "a/mandate.yaml"));
    expect(await leave()).toMatch(/: "a\/\.git" \(now "a\/\.git\.set-aside-[0-9a-f]{8}"\)\./);
    expect(existsSync(join(root, "a/mandate.yaml"))).toBe(true);
    expect(existsSync(join(root, "a/.git"))).toBe(false);
  });

  it("is a person's own where commands could not have put it", async () => {
    makeRepository(".", "lib");
    mkdirSync(join(root, "lib"));
    const { leave } = await enter();
    makeRepository("lib");
    write("mandate.yaml");
    expect(await leave()).toBeUndefined();
    expect(existsSync(join(root, "lib/.git/HEAD"))).toBe(true);
  });

  it("is set aside when it took the place of another program's link", async () => {
    write("shared/envrc", "b/x");
    for (const folder of ["a", "b"]) mkdirSync(join(root, folder), { recursive: true });
    for (const link of at("a/.envrc", "b/.envrc", ".mcp.json"))
      symlinkSync("../shared/envrc", link);
    const { leave, places, remark } = await enter();
    // The folder around stays writable: what the link leads to is what is read-only.
    expect([...places]).toEqual(at("shared/envrc"));
    expect(remark).toBeUndefined();
    for (const [link = "", target = ""] of [
      [...at("a/.envrc"), "../evil"],
      at(".mcp.json", "b/x"),
    ]) {
      rmSync(link);
      symlinkSync(target, link);
    }
    expect(await leave()).toMatch(/"a\/\.envrc" \(now .*|"\.mcp\.json" \(now /);
    expect(readdirSync(join(root, "b")).sort()).toEqual([".envrc", "x"]);
    expect(readdirSync(join(root, "a"))).not.toContain(".envrc");
    expect(readdirSync(root)).not.toContain(".mcp.json");
  });

  it("is never looked for behind a link", async () => {
    mkdirSync(join(base, "other/.git"), { recursive: true });
    writeFileSync(join(base, "other/.git/HEAD"), "");
    const { leave } = await enter();
    symlinkSync("../other", join(root, "link"));
    expect(await leave()).toBeUndefined();
    expect(readdirSync(join(base, "other"))).toEqual([".git"]);
  });
});
