import { classEnd, compileGlob } from "../pattern/glob-matcher.ts";

/** The rules of one .gitignore. */
export interface IgnoreRules {
  /** Characters of all its globs: each name is matched against all of them. */
  readonly globLength: number;
  /**
   * True: ignored; false: re-included by `!`; undefined: no rule matches. From `start` on, the path
   * is relative to the folder of the .gitignore.
   */
  judge(path: string, start: number, name: string, isFolder: boolean): boolean | undefined;
}

const mostRules = 5000;
const longestRule = 1000;

/**
 * Reads a .gitignore as git does; the last rule that matches decides. Plain names and endings, which
 * most rules are, are looked up and not searched for.
 */
export function parseIgnoreRules(text: string): IgnoreRules {
  const forFiles = new RuleTable();
  const forFolders = new RuleTable();
  const lines = text.replace(/^\ufeff/, "").split("\n", mostRules);
  for (const [index, line] of lines.entries()) {
    if (line.length > longestRule) continue;
    let glob = line.replace(/\r$/, "").replace(/(?<!\\) +$/, "");
    if (glob === "" || glob.startsWith("#")) continue;
    const ignores = !glob.startsWith("!");
    if (!ignores) glob = glob.slice(1);
    const isForFoldersOnly = glob.endsWith("/");
    if (isForFoldersOnly) glob = glob.slice(0, -1);
    if (glob === "" || isBroken(glob)) continue;
    const rule = new Rule(glob, index, ignores);
    forFolders.add(rule);
    if (!isForFoldersOnly) forFiles.add(rule);
  }
  return {
    // Whatever holds for files holds for folders too.
    globLength: forFolders.globLength,
    judge: (path, start, name, isFolder) =>
      (isFolder ? forFolders : forFiles).judge(path, start, name),
  };
}

class Rule {
  readonly glob: string;
  readonly index: number;
  readonly ignores: boolean;
  readonly isAboutNames: boolean;
  #matcher: ReturnType<typeof compileGlob> | undefined;

  constructor(glob: string, index: number, ignores: boolean) {
    this.glob = glob.replace(/^\//, "");
    this.index = index;
    this.ignores = ignores;
    this.isAboutNames = !glob.includes("/");
  }

  matches(text: string): boolean {
    // Compiled on first use: most rules are never tested.
    this.#matcher ??= compileGlob(this.glob);
    return this.#matcher.test(text);
  }
}

class RuleTable {
  readonly #names = new Map<string, Rule>();
  readonly #paths = new Map<string, Rule>();
  readonly #endings = new Map<string, Rule>();
  readonly #globs: Rule[] = [];
  globLength = 0;

  add(rule: Rule): void {
    const { glob, isAboutNames } = rule;
    if (!/[*?[\\]/.test(glob)) (isAboutNames ? this.#names : this.#paths).set(glob, rule);
    else if (isAboutNames && /^\*\.[^*?[\\.]+$/.test(glob)) this.#endings.set(glob.slice(2), rule);
    else {
      this.#globs.push(rule);
      this.globLength += glob.length;
    }
  }

  judge(path: string, start: number, name: string): boolean | undefined {
    let best = this.#names.get(name);
    if (this.#paths.size > 0) best = later(best, this.#paths.get(path.slice(start)));
    if (this.#endings.size > 0) {
      const dot = name.lastIndexOf(".");
      if (dot >= 0) best = later(best, this.#endings.get(name.slice(dot + 1)));
    }
    for (let index = this.#globs.length - 1; index >= 0; index -= 1) {
      const rule = this.#globs[index];
      if (rule === undefined || rule.index < (best?.index ?? -1)) break;
      if (rule.matches(rule.isAboutNames ? name : path.slice(start))) return rule.ignores;
    }
    return best?.ignores;
  }
}

function later(left: Rule | undefined, right: Rule | undefined): Rule | undefined {
  if (left === undefined || right === undefined) return left ?? right;
  return left.index > right.index ? left : right;
}

/** What git takes for a rule that never matches: an open class, a backslash before nothing. */
function isBroken(glob: string): boolean {
  for (let at = 0; at < glob.length; at += 1) {
    if (glob[at] === "\\") {
      at += 1;
      if (at === glob.length) return true;
    } else if (glob[at] === "[") {
      const end = classEnd(glob, at);
      if (end === at) return true;
      at = end;
    }
  }
  return false;
}
