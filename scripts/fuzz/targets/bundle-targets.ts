import assert from "node:assert/strict";
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { collectChanges } from "../../../src/workspaces/git/copies/collect-changes.ts";
import { createWorkingCopy } from "../../../src/workspaces/git/copies/create-working-copy.ts";
import {
  openChanges,
  openStart,
  readBundle,
  writeBundle,
} from "../../../src/workspaces/git/travel/git-bundle.ts";
import { packChanges, packCopy, unpackCopy } from "../../../src/workspaces/git/travel/pack-copy.ts";
import { receiveChanges } from "../../../src/workspaces/git/travel/receive-changes.ts";
import { attempt } from "../expect-refusal.ts";
import { mutated, mutatedText } from "../mutate-text.ts";
import { defineTarget } from "../target.ts";
import { TestFolder } from "../test-folder.ts";
import { git } from "./run-git.ts";

interface Packed {
  readonly folder: TestFolder;
  readonly start: string;
  readonly changes: string;
  readonly base: string;
  readonly copy: Awaited<ReturnType<typeof createWorkingCopy>>;
}

async function makeBundles(): Promise<Packed> {
  const folder = new TestFolder();
  const source = folder.at("source");
  mkdirSync(source);
  git(source, "init", "-q");
  writeFileSync(join(source, "a.txt"), "a\n");
  git(source, "add", "-A");
  git(source, "commit", "-q", "-m", "first");
  const copy = await createWorkingCopy({ source, id: "c1", home: folder.at("home") });
  const start = await packCopy(copy);
  const there = await unpackCopy({
    home: folder.at("there"),
    id: "c1",
    text: start,
    base: copy.base,
    prefix: "",
    standsFor: "/not/here",
  });
  writeFileSync(join(there.folder, "work.txt"), "work\n");
  const changes = await packChanges(there, await collectChanges(there, { message: "Work" }));
  return { folder, start, changes, base: copy.base, copy };
}

export const bundles = defineTarget({
  name: "bundles",
  surface: "git",
  promise: "a bundle that is not what was sealed is refused by name, and leaves no copy behind",
  caseMs: 10_000,
  cases: 15,
  async open() {
    const { base, changes, copy, folder, start } = await makeBundles();
    const words = [
      '"base":"',
      '"prefix":"../x"',
      '"commit":null',
      '"version":2',
      "\n",
      "====",
      "0".repeat(40),
    ];
    let count = 0;
    return {
      inputs: fc.oneof(
        mutatedText([start], words).map((text) => ({ kind: "start", text })),
        mutatedText([changes], words).map((text) => ({ kind: "changes", text })),
        mutated(
          [bodyOf(start), bodyOf(changes)],
          ["# v2 git bundle\n", "PACK", "-", "refs/heads/../x"],
        ).map((bytes) => ({
          kind: "start",
          text: `${start.slice(0, start.indexOf("\n"))}\n${bytes.toString("base64")}`,
        })),
      ),
      async check({ kind, text }) {
        count += 1;
        const home = folder.at(`to-${count}`);
        if (kind === "start") {
          const read = await attempt(() =>
            unpackCopy({ home, id: "c1", text, base, prefix: "", standsFor: "/not/here" }),
          );
          if ("value" in read)
            assert.equal(readFileSync(join(read.value.folder, "a.txt"), "utf8"), "a\n");
          else assert.deepEqual(globSync("worktrees/*", { cwd: home }), []);
          rmSync(home, { recursive: true, force: true });
        } else {
          const read = await attempt(() => receiveChanges(copy, text));
          if ("value" in read)
            assert.ok(read.value.commit === null || read.value.commit.length >= 40);
        }
      },
      close: () => folder[Symbol.dispose](),
    };
  },
});

export const bundleHeads = defineTarget({
  name: "bundle-heads",
  surface: "git",
  promise: "the head of a bundle is read as it was written, or refused",
  cases: 300,
  async open() {
    const { changes, folder, start } = await makeBundles();
    folder[Symbol.dispose]();
    return {
      inputs: fc.record({
        text: mutatedText([start, changes], ['"base":"', "\n", '"omitted":[]', '"__proto__":{}']),
        bytes: mutated(
          [bodyOf(start), bodyOf(changes)],
          ["# v3 git bundle\n", "@object-format=sha256\n", "-", "\n\n", "PACK"],
        ),
      }),
      async check({ bytes, text }) {
        await attempt(() => openStart(text));
        await attempt(() => openChanges(text));
        const read = await attempt(() => readBundle(bytes));
        if ("value" in read) assert.deepEqual(readBundle(writeBundle(read.value)), read.value);
      },
    };
  },
});

function bodyOf(text: string): Buffer {
  return Buffer.from(text.slice(text.indexOf("\n") + 1), "base64");
}
