import { execFileSync } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createWorkingCopy } from "../copies/create-working-copy.ts";
import { RepositoryRefused } from "../git-failure.ts";
import { fingerprint, git, makeFolder, makeRepository } from "../repository.test-support.ts";
import { gitEnvironment, gitOptions } from "../run-git.ts";

/** Ways by which git would fetch an object that is not there, and run something for it. */
const remotes: Readonly<Record<string, (marker: string) => Readonly<Record<string, string>>>> = {
  "a command": (marker) => ({ url: `ext::sh -c touch% ${marker}` }),
  "a program beside it": (marker) => ({ url: makeFolder(), uploadpack: `touch ${marker};` }),
  "the same by its address": (marker) => ({
    url: `file://${makeFolder()}`,
    uploadpack: `touch ${marker};`,
  }),
  "a shell elsewhere": () => ({ url: "ssh://host/path" }),
};

/** A repository that lacks an object, and says that it can be had from a remote of this kind. */
function makePromise(kind: string, missing: string) {
  const markers = makeFolder();
  const marker = join(markers, "ran");
  const source = makeRepository({ "a.txt": "a\n", "dir/b.txt": "b\n" });
  const object = git(source, "rev-parse", missing);
  const settings: Record<string, string> = {
    "core.repositoryFormatVersion": "1",
    "extensions.partialClone": "origin",
    "remote.origin.promisor": "true",
    "core.sshCommand": `touch ${marker};`,
  };
  for (const name of ["ext", "file", "ssh"]) settings[`protocol.${name}.allow`] = "always";
  for (const [name, value] of Object.entries(remotes[kind]?.(marker) ?? {})) {
    settings[`remote.origin.${name}`] = value;
  }
  for (const [name, value] of Object.entries(settings)) git(source, "config", name, value);
  rmSync(join(source, ".git/objects", object.slice(0, 2), object.slice(2)));
  return { source, object, ran: () => readdirSync(markers).length > 0 };
}

test.each(Object.keys(remotes))(
  "an object is not fetched by %s, whatever the repository allows",
  (kind) => {
    const careless = makePromise(kind, "HEAD:a.txt");
    expect(() => git(careless.source, "cat-file", "-p", careless.object)).toThrow();
    expect(careless.ran(), "git by itself does fetch it").toBe(true);

    const { source, object, ran } = makePromise(kind, "HEAD:a.txt");
    // As if this git were one of those that know nothing of it.
    const { GIT_NO_LAZY_FETCH: _, ...env } = gitEnvironment({ gitDirectory: join(source, ".git") });
    const words = [...gitOptions, "cat-file", "-p", object];
    expect(() => execFileSync("git", words, { env, cwd: source, stdio: "pipe" })).toThrow();
    expect(ran()).toBe(false);
  },
);

test.each(["HEAD^{tree}", "HEAD:a.txt", "HEAD:dir"])(
  "a repository that promises its missing %s is refused, or served from disk; nothing is fetched",
  async (missing) => {
    const { source, ran } = makePromise("a command", missing);
    rmSync(join(source, "dir"), { recursive: true });
    const before = fingerprint(source);
    const made = await createWorkingCopy({ source, id: "one", home: makeFolder() }).catch(
      (error: unknown) => error,
    );
    if (made instanceof Error) expect(made).toBeInstanceOf(RepositoryRefused);
    expect(ran()).toBe(false);
    expect(fingerprint(source)).toBe(before);
  },
);
