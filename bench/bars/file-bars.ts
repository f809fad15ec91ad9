import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { loadSkills } from "../../src/agents/skills/skill-registry.ts";
import { editFile } from "../../src/tools/files/edit-file.ts";
import { callTool, contextFor } from "../../src/tools/files/file-tool.test-support.ts";
import { globFiles } from "../../src/tools/files/glob-files.ts";
import { grepTool } from "../../src/tools/files/grep-files.ts";
import { selectFiles } from "../../src/tools/files/search/select-files.ts";
import { bindWorkspace } from "../../src/workspaces/bind-workspace.ts";
import { openFolder } from "../load/open-folder.ts";
import { type Bar, growth, linear, longestTurn, ratio, worstGrowth } from "./bar.ts";

type Files = Readonly<Record<string, string>>;

/** Runs work in a folder with these files, which is removed afterwards. */
async function inFolder<Result>(
  files: Files,
  work: (root: string) => Promise<Result>,
): Promise<Result> {
  const root = openFolder("bars");
  try {
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), content);
    }
    return await work(root);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

const edits = {
  "nearly the same": (size: number) => ({
    content: "a".repeat(20 * size),
    input: { old_text: `${"a".repeat(size)}b${"a".repeat(size)}`, new_text: "" },
  }),
  "too many times": (size: number) => ({
    content: "a".repeat(20 * size),
    input: { old_text: "a".repeat(size), new_text: "" },
  }),
  "in one long line": (size: number) => ({
    content: `${"ab".repeat(size)}${"c".repeat(20 * size)}`,
    input: { old_text: "ab", new_text: "a\nb", replace_all: true },
  }),
};

/** Letters in an order that a matcher cannot foresee. */
const mixed = (length: number, seed: number): string =>
  Array.from({ length }, (_, at) => "ab"[((at * at * seed) >> 3) & 1]).join("");

/** One folder with the hardest rules there can be, and folders with too many rules. */
function hardRules(): Files {
  const many = Array.from({ length: 700 }, (_, index) => `*${"[ab]?".repeat(60)}${index}`);
  const hard = Array.from({ length: 50 }, (_, index) => `*a${"?".repeat(140)}${index}`);
  const longName = (index: number): string => `${index}${mixed(200, index + 2)}`;
  const files: Record<string, string> = {
    "hard/.gitignore": hard.join("\n"),
    "spaces/.gitignore": `${" ".repeat(200_000)}x`,
  };
  for (let index = 0; index < 6; index += 1) {
    files[`d${index}/.gitignore`] = many.join("\n");
    files[`d${index}/${longName(index)}`] = "";
    files[`hard/${longName(index)}`] = "";
  }
  return files;
}

/** Tools and registries that read whole folders. */
export const fileBars: readonly Bar[] = [
  {
    name: "files: edits of text that is slow to find",
    ...linear,
    measure: () =>
      inFolder({}, (root) => {
        const context = contextFor(root);
        return worstGrowth(Object.values(edits), 5000, (prepare, size) => {
          const { content, input } = prepare(size);
          return () => {
            writeFileSync(join(root, "a.txt"), content);
            return callTool(editFile, { path: "a.txt", ...input }, context);
          };
        });
      }),
  },
  {
    name: "files: a glob of many stars",
    about: "its search over a search for all files",
    atMost: 5,
    measure: () => {
      const names = Array.from({ length: 50 }, (_, place) => [`${"a".repeat(200)}${place}`, ""]);
      return inFolder(Object.fromEntries(names), (root) => {
        const context = contextFor(root);
        const glob = (pattern: string) => () => callTool(globFiles, { pattern }, context);
        return ratio(glob(`${"*a".repeat(60)}*b*`), glob("*"));
      });
    },
  },
  {
    name: "files: a slow search leaves others their turns",
    about: "the longest turn over 1,000 small JSON records",
    atMost: 100,
    measure: () => {
      const names = Array.from({ length: 20 }, (_, seed) => [`f${seed}`, mixed(300_000, seed + 2)]);
      return inFolder(Object.fromEntries(names), (root) => {
        const tool = grepTool(async () => null);
        const input = { pattern: "(a|b)*(a?){50}[ab].{60}[cd]" };
        return longestTurn(() => callTool(tool, input, contextFor(root)));
      });
    },
  },
  {
    name: "files: the hardest ignore rules leave others their turns",
    about: "the longest turn over 1,000 small JSON records",
    atMost: 250,
    measure: () =>
      inFolder(hardRules(), (root) => {
        const binding = bindWorkspace({ root, isolation: "shared", allowWrites: false });
        return longestTurn(async () => {
          const files = selectFiles(binding, { path: ".", includeIgnored: false });
          for (const _ of files) await nextTurn();
        });
      }),
  },
  {
    name: "files: skills of many folders",
    ...linear,
    // The system's part depends on what else is in its cache of folders.
    atMost: 40,
    measure: () =>
      inFolder({ ...skills("few", 100), ...skills("many", 800) }, (root) =>
        growth(100, (size) => () => {
          const path = join(root, size === 100 ? "few" : "many");
          const registry = loadSkills({ directories: [{ path, origin: "user" }] });
          if (registry.all().length !== size) throw new Error("Skills are missing.");
        }),
      ),
  },
];

const skills = (folder: string, count: number): Files =>
  Object.fromEntries(
    Array.from({ length: count }, (_, place) => [
      `${folder}/skill-${place}/SKILL.md`,
      "---\ndescription: Of use in a benchmark.\n---\n\nDo it.\n",
    ]),
  );
