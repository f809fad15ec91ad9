import { foldName } from "./copies/case-collisions.ts";
import { type ChangeProblem, changeProblem } from "./copies/change-problem.ts";
import { pathInWorkspace, shownRaw } from "./raw-path.ts";
import type { TreeChange } from "./tree-changes.ts";

/** What makes git take a folder for a repository without any `.git` in it. */
interface Signs {
  head: boolean;
  objects: boolean;
  refs: boolean;
  elsewhere: boolean;
  isChanged: boolean;
}

/**
 * Folders that git would take for a bare repository, and to which one of the changed paths belongs:
 * whoever runs git in them obeys the configuration that lies there, which can name programs.
 */
function findEmbeddedRepositories(
  all: Iterable<string>,
  changed: ReadonlySet<string>,
): readonly string[] {
  const folders = new Map<string, Signs>();
  for (const path of all) {
    const isChanged = changed.has(path);
    const names = foldName(path).split("/");
    for (const [depth, name] of names.entries()) {
      const sign = signOf(name, depth === names.length - 1);
      if (sign === undefined) continue;
      // As it is spelt; the names that git looks for may be in any case.
      const folder = path.split("/").slice(0, depth).join("/");
      const signs = folders.get(folder) ?? { ...none };
      if (sign !== "setting") signs[sign] = true;
      signs.isChanged ||= isChanged;
      folders.set(folder, signs);
    }
  }
  return [...folders]
    .filter(([, { isChanged, head, objects, refs, elsewhere }]) => {
      return isChanged && head && (elsewhere || (objects && refs));
    })
    .map(([folder]) => (folder === "" ? "." : folder));
}

const none: Signs = {
  head: false,
  objects: false,
  refs: false,
  elsewhere: false,
  isChanged: false,
};

/** A folder, or a link to one, can be either; `HEAD` and `commondir` are files. */
function signOf(
  name: string,
  isLast: boolean,
): keyof Omit<Signs, "isChanged"> | "setting" | undefined {
  if (name === "objects" || name === "refs") return name;
  if (name === "hooks") return "setting";
  if (!isLast) return undefined;
  if (name === "head") return "head";
  if (name === "commondir") return "elsewhere";
  return name === "config" || name === "config.worktree" ? "setting" : undefined;
}

/** Asked of the whole tree, for the changes that left something in it. */
export function embeddedProblem(
  prefix: string,
  all: readonly string[],
  present: readonly TreeChange[],
): ChangeProblem | undefined {
  const changed = new Set(present.map(({ path }) => shownRaw(path)));
  const folders = findEmbeddedRepositories(all, changed);
  if (folders.length === 0) return undefined;
  return changeProblem(
    "embedded-repository",
    folders.map((folder) => pathInWorkspace(prefix, folder) || "."),
  );
}
