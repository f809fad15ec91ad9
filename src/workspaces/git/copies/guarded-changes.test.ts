import { expect, test } from "vitest";
import { protectedPaths } from "../../protected/protected-paths.ts";
import { guardedChanges } from "./judge-changes.ts";
import type { WorkingCopy } from "./working-copy.ts";

const source = { kind: "git", toplevel: "/home/me/project", prefix: "" };
const copy = { home: "/home/me/.mandate", id: "one", source } as unknown as WorkingCopy;

test("a merge brings nothing that the list protects, at any depth and in any case", () => {
  const paths = protectedPaths.flatMap(({ path, atRoot }) => {
    const name = path.replace("*", "");
    const folders = atRoot === true ? [""] : ["", "a/", "a/b/c/d/e/"];
    return folders.flatMap((folder) => [`${folder}${name}`, `${folder}${name.toUpperCase()}/x`]);
  });
  expect(guardedChanges(copy, paths, [])).toEqual(paths);
});

test("a merge brings what only looks like it", () => {
  const paths = [
    ".github/workflows/ci.yml",
    "src/config",
    "HEAD.md",
    "docs/refs/x",
    ".claude/a.md",
  ];
  expect(guardedChanges(copy, paths, [])).toEqual([]);
});

test("what the configuration names counts, and the folders above it", () => {
  const paths = ["agents/a.md", "agents", "agents.md"];
  expect(guardedChanges(copy, paths, ["/home/me/project/agents/own"])).toEqual(["agents"]);
  expect(guardedChanges(copy, paths, ["/home/me/project/agents"])).toEqual(paths.slice(0, 2));
});
