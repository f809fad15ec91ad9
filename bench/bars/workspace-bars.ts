import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { collectChanges } from "../../src/workspaces/git/copies/collect-changes.ts";
import { createWorkingCopy } from "../../src/workspaces/git/copies/create-working-copy.ts";
import { discardWorkingCopy } from "../../src/workspaces/git/copies/discard-working-copy.ts";
import { integrate } from "../../src/workspaces/git/integration/integrate.ts";
import { openFolder } from "../load/open-folder.ts";
import { type Bar, familyTime, ratio } from "./bar.ts";

/** Git as a person would run it. */
function git(folder: string, ...words: readonly string[]): void {
  const person = ["-c", "user.name=Person", "-c", "user.email=person@example.org"];
  execFileSync("git", [...person, "-c", "init.defaultBranch=main", ...words], {
    cwd: folder,
    stdio: "ignore",
    env: { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" },
  });
}

const commitAll = (folder: string): void => {
  // All contents in one pack, as in a repository that was cloned.
  git(folder, "-c", "core.bigFileThreshold=1", "add", "-A");
  git(folder, "commit", "-q", "-m", "state");
};

interface Places {
  readonly source: string;
  readonly home: string;
  /** Another name at each call. */
  next(): string;
}

async function inPlaces(files: number, work: (places: Places) => Promise<number>) {
  const folder = openFolder("bars");
  let made = 0;
  const places = { source: join(folder, "source"), home: join(folder, "home") };
  try {
    mkdirSync(places.home);
    for (let index = 0; index < files; index += 1) {
      const inside = join(places.source, `src/d${index % 100}`);
      mkdirSync(inside, { recursive: true });
      const text = `export const value${index} = ${index};\n`.repeat(20);
      writeFileSync(join(inside, `f${index}.ts`), text);
    }
    return await work({ ...places, next: () => `copy${++made}` });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Git works in processes of its own. */
const withGit = { time: familyTime, rounds: 5, leastUs: 200_000 };

const bigSource = 2000;

/** Working copies, beside what git itself needs for the same files at the same moment. */
export const workspaceBars: readonly Bar[] = [
  {
    name: "workspaces: a copy of 2,000 files in a repository",
    about: "the copy over git clone --shared",
    atMost: 12,
    measure: () =>
      inPlaces(bigSource, ({ home, next, source }) => {
        git(source, "init", "-q");
        commitAll(source);
        return ratio(
          () => createWorkingCopy({ source, id: next(), home }),
          () => git(home, "clone", "-q", "--shared", source, next()),
          withGit,
        );
      }),
  },
  {
    name: "workspaces: a copy of 2,000 files without a repository",
    about: "the copy over git init, add, commit and clone",
    atMost: 6,
    measure: () =>
      inPlaces(bigSource, ({ home, next, source }) =>
        ratio(
          () => createWorkingCopy({ source, id: next(), home }),
          () => {
            const repository = join(home, next());
            const separate = ["--git-dir", repository, "--work-tree", source];
            git(home, ...separate, "init", "-q");
            git(home, ...separate, "-c", "core.bigFileThreshold=1", "add", "-A");
            git(home, ...separate, "commit", "-q", "-m", "state");
            git(home, "clone", "-q", "--shared", repository, next());
          },
          withGit,
        ),
      ),
  },
  {
    name: "workspaces: two children side by side",
    about: "two copies, changed, merged and removed, over one",
    atMost: 6,
    measure: () =>
      inPlaces(20, ({ home, next, source }) => {
        git(source, "init", "-q");
        commitAll(source);
        const child = async () => {
          const id = next();
          const copy = await createWorkingCopy({ source, id, home });
          writeFileSync(join(copy.root, `${id}.txt`), "changed\n");
          const { status } = await integrate({ copy, changes: await collectChanges(copy) });
          if (status !== "merged") throw new Error(`The integration ended as "${status}".`);
          await discardWorkingCopy(copy);
        };
        return ratio(() => Promise.all([child(), child()]), child, withGit);
      }),
  },
];
