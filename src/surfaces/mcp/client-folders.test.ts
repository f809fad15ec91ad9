import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { foldersOfRoots, narrowFolders } from "./client-folders.ts";

test("Of a client's roots, folders that exist are left, by their real path", async () => {
  const root = testFolder();
  mkdirSync(join(root, "a b"));
  writeFileSync(join(root, "file"), "");
  symlinkSync(join(root, "a b"), join(root, "link"));
  const uri = (name: string): string => pathToFileURL(join(root, name)).href;
  expect(
    await foldersOfRoots([
      uri("a b"),
      uri("link"),
      uri("file"),
      uri("missing"),
      "https://example.org/",
      "file://host.example.org/etc",
      "file:///etc%2fpasswd",
      "file:///%00",
      "mandate://runs/r1",
      "../..",
      "",
    ]),
  ).toEqual([join(root, "a b")]);
});

test("Roots are narrowed to the server's folders, segment by segment, and never widen", () => {
  const allowed = ["/srv/app", "/srv/lib"];
  expect(narrowFolders(["/srv/app/src"], allowed)).toEqual(["/srv/app/src"]);
  expect(narrowFolders(["/srv"], allowed)).toEqual(["/srv/app", "/srv/lib"]);
  expect(narrowFolders(["/srv/app-evil", "/etc", "/srv/ap"], allowed)).toEqual([]);
  expect(narrowFolders(["/"], allowed)).toEqual(allowed);
  expect(narrowFolders(["/srv/app", "/srv"], allowed)).toEqual(allowed);
  expect(narrowFolders([], allowed)).toEqual([]);
  expect(narrowFolders(["/anywhere"], undefined)).toEqual(["/anywhere"]);
});
