import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { ManualClock } from "../../testing/manual-clock.ts";
import { GitFailure } from "./git-failure.ts";
import { hashContents } from "./read-git.ts";
import { git, makeFolder, makeRepository, writeFiles } from "./repository.test-support.ts";
import { askGit, isRecentEnough, requireGit, runGit } from "./run-git.ts";

afterEach(() => {
  vi.unstubAllEnvs();
});

const path = process.env["PATH"];

/** A program called git that does something else. */
function fakeGit(script: string): void {
  const folder = makeFolder();
  writeFileSync(join(folder, "git"), `#!/bin/sh\n${script}\n`);
  chmodSync(join(folder, "git"), 0o755);
  vi.stubEnv("PATH", `${folder}:${path}`);
}

async function failure(run: Promise<unknown>): Promise<GitFailure> {
  const error = await run.catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(GitFailure);
  return error as GitFailure;
}

test("git sees none of our environment and none of the machine's configuration", async () => {
  vi.stubEnv("GIT_AUTHOR_NAME", "Somebody");
  vi.stubEnv("SECRET_KEY", "secret");
  fakeGit("env; printf '%s\\n' \"$@\"");
  const said = (await askGit(["status", "--", "a b"])).split("\n");
  expect(said).toContain("GIT_AUTHOR_NAME=Mandate");
  expect(said).toContain("GIT_CONFIG_GLOBAL=/dev/null");
  expect(said).toContain("GIT_CONFIG_NOSYSTEM=1");
  expect(said).toContain("GIT_TERMINAL_PROMPT=0");
  expect(said.join("\n")).not.toContain("secret");
  expect(said.slice(-3)).toEqual(["status", "--", "a b"]);
  expect(said).toContain("protocol.allow=never");
});

test("failures say what kind they are, and what git said", async () => {
  const exit = await failure(
    runGit(["rev-parse", "--verify", "nothing"], { cwd: makeRepository() }),
  );
  expect(exit).toMatchObject({ kind: "exit", exitCode: 128, command: "rev-parse" });
  expect(exit.message).toContain("Needed a single revision");
  fakeGit("sleep 60");
  const clock = new ManualClock();
  const late = failure(runGit(["status"], { timeoutMs: 100, clock }));
  await clock.advance(100);
  expect(await late).toMatchObject({ kind: "timeout" });
  const controller = new AbortController();
  const { signal } = controller;
  const stopped = failure(runGit(["status"], { signal }));
  controller.abort();
  expect(await stopped).toMatchObject({ kind: "aborted" });
  expect(await failure(runGit(["status"], { signal }))).toMatchObject({ kind: "aborted" });
});

test("output is limited, and git that floods us is ended", async () => {
  fakeGit("yes");
  const flood = await failure(runGit(["log"], { maximumBytes: 100_000 }));
  expect(flood.kind).toBe("output-too-large");
  const cut = await runGit(["log"], { maximumBytes: 1001, cutAtMaximum: true });
  expect(cut).toMatchObject({ cut: true, stdout: Buffer.from("y\n".repeat(501).slice(0, 1001)) });
});

test("git that does not read its input is no reason to fail", async () => {
  fakeGit("exit 0");
  const input = Buffer.alloc(5_000_000, "x");
  expect(await runGit(["update-index"], { input })).toMatchObject({ exitCode: 0 });
});

test("a git that is too old is refused, and asked again later", async () => {
  fakeGit("echo git version 2.37.9");
  expect(await failure(requireGit())).toMatchObject({ kind: "too-old" });
  vi.unstubAllEnvs();
  expect(await requireGit()).toMatch(/^\d+\.\d+/);
  expect(["2.38.0", "2.100.1", "3.0"].every(isRecentEnough)).toBe(true);
  expect(["1.99", "2.9", "0"].some(isRecentEnough)).toBe(false);
});

test("contents are hashed as they are, however they are cut into pieces", async () => {
  const { createHash } = await import("node:crypto");
  const texts = ["", "\n", "a", "line\n".repeat(50_000), "0 blob 5\nx\n"];
  const folder = makeRepository();
  const names = texts.map((_, index) => `f${index}`);
  writeFiles(folder, Object.fromEntries(texts.map((text, index) => [`f${index}`, text])));
  const objects = git(folder, "hash-object", "-w", ...names).split("\n");
  const hashes = await hashContents(join(folder, ".git"), objects);
  const expected = texts.map((text) => createHash("sha256").update(text).digest("hex"));
  expect(objects.map((object) => hashes.get(object))).toEqual(expected);
  await failure(hashContents(join(folder, ".git"), ["0".repeat(40)]));
});
