import { createHash, type Hash } from "node:crypto";
import { startProgram } from "../../processes/start-program.ts";
import { findGit } from "./find-git.ts";
import { gitEnvironment, gitOptions } from "./git-environment.ts";
import { GitFailure } from "./git-failure.ts";

/**
 * The SHA-256 of stored contents, by git's own name for them: the hash that evidence uses all over
 * the log. One git process streams them all; none is held in memory.
 */
export async function hashContents(
  vault: string,
  objects: Iterable<string>,
): Promise<ReadonlyMap<string, string>> {
  const wanted = [...new Set(objects)];
  const hashes = new Map<string, string>();
  if (wanted.length === 0) return hashes;
  const child = startProgram(
    {
      program: findGit("cat-file"),
      args: [...gitOptions, "cat-file", "--batch", "--buffer"],
      environment: gitEnvironment({ gitDirectory: vault }),
    },
    ["pipe", "pipe", "ignore"],
  );
  const failed = new Promise<never>((_, reject) => {
    child.on("error", (cause) => reject(new GitFailure("missing", "cat-file", {}, { cause })));
  });
  child.stdin.on("error", () => undefined);
  child.stdin.end(wanted.map((object) => `${object}\n`).join(""));
  try {
    await Promise.race([readBatch(child.stdout, hashes), failed]);
  } finally {
    child.kill("SIGKILL");
  }
  if (hashes.size !== wanted.length) {
    throw new GitFailure("exit", "cat-file", { stderr: "some contents are missing" });
  }
  return hashes;
}

async function readBatch(
  stream: AsyncIterable<Buffer>,
  hashes: Map<string, string>,
): Promise<void> {
  let header = "";
  let current: { readonly object: string; readonly hash: Hash; left: number } | undefined;
  for await (const chunk of stream) {
    let rest = chunk;
    while (rest.length > 0) {
      if (current === undefined) {
        const end = rest.indexOf(10);
        header += rest.toString("latin1", 0, end < 0 ? rest.length : end);
        rest = end < 0 ? rest.subarray(rest.length) : rest.subarray(end + 1);
        if (end < 0) continue;
        const [object = "", type, size] = header.split(" ");
        header = "";
        // Each content is followed by a line break, which is the last byte to wait for.
        if (type === "blob")
          current = { object, hash: createHash("sha256"), left: Number(size) + 1 };
        continue;
      }
      const content = rest.subarray(0, Math.min(rest.length, current.left));
      const isEnd = content.length === current.left;
      current.hash.update(isEnd ? content.subarray(0, -1) : content);
      current.left -= content.length;
      rest = rest.subarray(content.length);
      if (!isEnd) continue;
      hashes.set(current.object, current.hash.digest("hex"));
      current = undefined;
    }
  }
}
