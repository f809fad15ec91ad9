import { statSync } from "node:fs";
import { dirname, join } from "node:path";
import { CallDenied } from "../../../ports/call-denied.ts";
import { GitFailure } from "../../git/git-failure.ts";
import { runGit } from "../../git/run-git.ts";

interface Known {
  readonly state: string;
  readonly links: readonly string[];
}

/**
 * The folders that an index names as other repositories. Git goes into each of them by itself, on
 * `git status` already, and obeys the `.git` that it finds there: whether there was one or not.
 * Remembered for as long as the index stays the same file.
 */
export class Gitlinks {
  readonly #known = new Map<string, Known>();

  /** Absolute paths below the folder that has the `.git`. */
  async of(dotGit: string, gitDirectory: string): Promise<readonly string[]> {
    const state = stateOf(join(gitDirectory, "index"));
    if (state === undefined) return [];
    const known = this.#known.get(dotGit);
    if (known?.state === state) return known.links;
    const links = await readGitlinks(dirname(dotGit), gitDirectory);
    this.#known.set(dotGit, { state, links });
    return links;
  }
}

function stateOf(file: string): string | undefined {
  const status = statSync(file, { throwIfNoEntry: false, bigint: true });
  return status && [status.dev, status.ino, status.size, status.mtimeNs, status.ctimeNs].join(" ");
}

async function readGitlinks(workTree: string, gitDirectory: string): Promise<readonly string[]> {
  try {
    const { stdout } = await runGit(["ls-files", "--stage", "-z", "--full-name"], {
      ...{ gitDirectory, workTree, cwd: workTree, timeoutMs: 10_000 },
      maximumBytes: 256 * 1024 * 1024,
    });
    const links = new Set<string>();
    for (let at = 0; at < stdout.length; ) {
      const end = stdout.indexOf(0, at);
      const isLink = stdout.toString("latin1", at, at + 7) === "160000 ";
      if (isLink) links.add(pathOf(workTree, stdout.toString("utf8", at, end)));
      at = end < 0 ? stdout.length : end + 1;
    }
    return [...links];
  } catch (error) {
    // Where git itself cannot read the index, nobody's git follows what is in it.
    const kind = error instanceof GitFailure ? error.kind : undefined;
    if (kind === "missing" || kind === "exit") return [];
    throw new CallDenied(
      "workspace_unknown",
      `What git follows in "${workTree}" could not be found out in time, so that it could not be ` +
        "protected from a command. Try once more, or work without shell.",
      { cause: error },
    );
  }
}

function pathOf(workTree: string, entry: string): string {
  return join(workTree, entry.slice(entry.indexOf("\t") + 1));
}
