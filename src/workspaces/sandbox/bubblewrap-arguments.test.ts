import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { namedProgram } from "../processes/find-program.ts";
import { createBubblewrap } from "./bubblewrap.ts";
import type { SandboxPolicy } from "./sandbox.ts";

let base: string;
let root: string;
let out: string;

beforeEach(() => {
  base = testFolder();
  root = join(base, "work");
  out = join(root, "in/out");
  mkdirSync(out, { recursive: true });
  mkdirSync(join(base, "outside"));
  writeFileSync(join(base, "outside/secret.txt"), "");
});

/** What may be written, by the arguments of a command that is about to be started. */
function writable(): readonly string[] {
  const policy: SandboxPolicy = {
    ...{ root, allowWrites: true, writeRoots: [out], scratch: "/scratch" },
    ...{ forbidden: [], guarded: [], visible: [], ownsGit: false },
  };
  const options = { program: namedProgram("/usr/bin/bwrap"), version: "0", programFolders: [] };
  const sandbox = createBubblewrap({ ...options, closesNamespaces: true, isFiltered: false });
  const { args } = sandbox.wrap(policy, ["true"], root);
  const bound = args.flatMap((word, index) => (word === "--bind" ? [args[index + 1] ?? ""] : []));
  return bound.filter((place) => !place.startsWith("/scratch"));
}

it("a write root is mounted so that it can be written", () => {
  expect(writable()).toEqual([out]);
});

it("a write root that has become a link to a file is not mounted", () => {
  rmSync(out, { recursive: true });
  symlinkSync("../../outside/secret.txt", out);
  expect(writable()).toEqual([]);
});

it("a write root that has become a link to a folder, or lies behind one, is refused", () => {
  rmSync(out, { recursive: true });
  symlinkSync("../../outside", out);
  expect(writable).toThrow(/was replaced by something else/);
  rmSync(join(root, "in"), { recursive: true });
  mkdirSync(join(base, "outside/out"));
  symlinkSync("../outside", join(root, "in"));
  expect(writable).toThrow(/was replaced by something else/);
});
