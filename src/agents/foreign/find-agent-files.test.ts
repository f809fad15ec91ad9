import { mkdirSync, symlinkSync } from "node:fs";
import { join, relative } from "node:path";
import { expect, test } from "vitest";
import { discoverAgentPlaces, findAgentFiles } from "./find-agent-files.ts";
import { foreignFiles } from "./foreign-files.test-support.ts";

const { root, write } = foreignFiles();

test("files are found by name, below every folder but those of packages and repositories", () => {
  for (const path of ["b.md", "a/z.md", "a/.roomodes", "node_modules/x.md", ".git/y.md"]) {
    write(`walk/${path}`, "x");
  }
  const found = findAgentFiles([join(root, "walk"), join(root, "walk/b.md"), join(root, "absent")]);
  expect(found.map((path) => relative(root, path))).toEqual([
    "walk/a/.roomodes",
    "walk/a/z.md",
    "walk/b.md",
    "absent",
  ]);
});

test("links are followed to files below the folder and no further, and never in circles", () => {
  write("links/real.md", "x");
  write("secret.md", "x");
  mkdirSync(join(root, "links/deep"));
  symlinkSync(join(root, "links/real.md"), join(root, "links/deep/near.md"));
  symlinkSync(join(root, "secret.md"), join(root, "links/deep/far.md"));
  symlinkSync(join(root, "links"), join(root, "links/deep/circle"));
  symlinkSync(join(root, "gone"), join(root, "links/deep/gone.md"));
  const found = findAgentFiles([join(root, "links")]);
  expect(found.map((path) => relative(root, path))).toEqual([
    "links/deep/near.md",
    "links/real.md",
  ]);
});

test("the places of other programs are found where a project has them", () => {
  write("project/.claude/agents/a.md", "x");
  write("project/.roomodes", "x");
  write("project/src/a.md", "x");
  const places = discoverAgentPlaces(join(root, "project"));
  expect(places.map((path) => relative(join(root, "project"), path))).toEqual([
    ".claude/agents",
    ".roomodes",
  ]);
  expect(discoverAgentPlaces(join(root, "nowhere"))).toEqual([]);
});
