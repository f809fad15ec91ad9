import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { collectChanges } from "../../../src/workspaces/git/copies/collect-changes.ts";
import { createWorkingCopy } from "../../../src/workspaces/git/copies/create-working-copy.ts";
import { discardWorkingCopy } from "../../../src/workspaces/git/copies/discard-working-copy.ts";
import { fingerprint } from "../../../src/workspaces/git/repository.test-support.ts";
import { attempt } from "../expect-refusal.ts";
import { defineTarget } from "../target.ts";
import { TestFolder } from "../test-folder.ts";
import { git } from "./run-git.ts";

/** Things that happen to repositories; each may be refused by git itself, and then it did not. */
const happenings: Readonly<Record<string, (folder: string, marker: string) => void>> = {
  detached: (folder) => git(folder, "checkout", "-q", "--detach"),
  unborn: (folder) => git(folder, "checkout", "-q", "--orphan", "other"),
  bare: (folder) => git(folder, "config", "core.bare", "true"),
  "locked index": (folder) => writeFileSync(join(folder, ".git/index.lock"), ""),
  "no HEAD": (folder) => rmSync(join(folder, ".git/HEAD")),
  "odd HEAD": (folder) => writeFileSync(join(folder, ".git/HEAD"), "ref: refs/heads/../../x\n"),
  "corrupt index": (folder) => writeFileSync(join(folder, ".git/index"), "DIRC garbage"),
  "no objects": (folder) => rmSync(join(folder, ".git/objects"), { recursive: true }),
  "corrupt object": (folder) => {
    const [object] = globSync(".git/objects/??/*", { cwd: folder });
    if (object !== undefined) {
      rmSync(join(folder, object), { force: true });
      writeFileSync(join(folder, object), "garbage");
    }
  },
  "dirty file": (folder) => writeFileSync(join(folder, "a.txt"), "changed\n"),
  untracked: (folder) => writeFileSync(join(folder, "new file\u202e.txt"), "new\n"),
  staged: (folder) => {
    writeFileSync(join(folder, "staged.txt"), "s\n");
    git(folder, "add", "staged.txt");
  },
  "case twins": (folder) => {
    writeFileSync(join(folder, "A.txt"), "1\n");
    git(folder, "add", "-A");
  },
  "link out": (folder) => symlinkSync("/etc", join(folder, "out")),
  "link as git": (folder) => {
    rmSync(join(folder, "sub"), { recursive: true, force: true });
    symlinkSync("/tmp", join(folder, "sub"));
  },
  "nested repository": (folder) => {
    mkdirSync(join(folder, "nested"));
    git(join(folder, "nested"), "init", "-q");
  },
  "embedded bare": (folder) => {
    mkdirSync(join(folder, "bare"));
    git(join(folder, "bare"), "init", "-q", "--bare");
  },
  "merge under way": (folder) =>
    writeFileSync(join(folder, ".git/MERGE_HEAD"), `${"0".repeat(40)}\n`),
  hooks: (folder, marker) => {
    for (const name of [
      "post-checkout",
      "pre-commit",
      "post-index-change",
      "reference-transaction",
    ])
      writeFileSync(join(folder, ".git/hooks", name), `#!/bin/sh\ntouch ${marker}\n`, {
        mode: 0o755,
      });
  },
  "hostile config": (folder, marker) => {
    const run = `!touch ${marker}`;
    for (const key of [
      "core.fsmonitor",
      "core.pager",
      "core.sshCommand",
      "diff.external",
      "core.hooksPath",
      "gpg.program",
      "core.editor",
    ])
      git(folder, "config", key, `touch ${marker}`);
    for (const key of [
      "alias.status",
      "filter.x.clean",
      "filter.x.smudge",
      "filter.x.process",
      "credential.helper",
    ])
      git(folder, "config", key, run);
    writeFileSync(join(folder, ".gitattributes"), "* filter=x diff=x merge=x\n");
  },
  "broken config": (folder) => writeFileSync(join(folder, ".git/config"), "[core\nbare = maybe\n"),
  "worktree elsewhere": (folder) => git(folder, "config", "core.worktree", "/tmp"),
  alternates: (folder) => writeFileSync(join(folder, ".git/objects/info/alternates"), "/nowhere\n"),
  "git is a file": (folder) => {
    rmSync(join(folder, ".git"), { recursive: true });
    writeFileSync(join(folder, ".git"), "gitdir: /etc\n");
  },
  "no repository": (folder) => rmSync(join(folder, ".git"), { recursive: true }),
  "empty folder": (folder) => {
    for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true });
  },
  submodule: (folder) => {
    writeFileSync(
      join(folder, ".gitmodules"),
      '[submodule "x"]\n\tpath = x\n\turl = ext::touch x\n',
    );
    git(folder, "update-index", "--add", "--cacheinfo", `160000,${"1".repeat(40)},x`);
  },
};

export const repositories = defineTarget({
  name: "repositories",
  surface: "git",
  promise:
    "a repository in any state is copied or refused by name; it stays as it was and runs nothing",
  caseMs: 15_000,
  cases: 8,
  open() {
    const folder = new TestFolder();
    const template = folder.at("template");
    mkdirSync(join(template, "sub"), { recursive: true });
    git(template, "init", "-q");
    writeFileSync(join(template, "a.txt"), "a\n");
    writeFileSync(join(template, "sub/b.txt"), "b\n");
    git(template, "add", "-A");
    git(template, "commit", "-q", "-m", "first");
    let count = 0;
    return {
      inputs: fc.uniqueArray(fc.constantFrom(...Object.keys(happenings)), {
        minLength: 1,
        maxLength: 3,
      }),
      async check(names: readonly string[]) {
        count += 1;
        const [source, home, marker] = ["source", "home", "marker"].map((name) =>
          folder.at(`${count}/${name}`),
        ) as [string, string, string];
        mkdirSync(folder.at(String(count)));
        execFileSync("cp", ["-r", template, source]);
        for (const name of names) {
          try {
            happenings[name]?.(source, marker);
          } catch {
            // Something before it left nothing for it to happen to.
          }
        }
        rmSync(marker, { force: true });
        const before = fingerprint(source);
        const made = await attempt(() => createWorkingCopy({ source, id: "c1", home }), /\S/);
        if ("value" in made) {
          writeFileSync(join(made.value.folder, "work.txt"), "work\n");
          await attempt(() => collectChanges(made.value));
          await attempt(() => discardWorkingCopy(made.value));
        } else assert.ok(!existsSync(join(home, "copies/c1/record.json")));
        assert.equal(fingerprint(source), before, `changed by looking at: ${names.join(", ")}`);
        assert.ok(!existsSync(marker), `something was run: ${names.join(", ")}`);
        rmSync(folder.at(String(count)), { recursive: true, force: true });
      },
      close: () => folder[Symbol.dispose](),
    };
  },
});
