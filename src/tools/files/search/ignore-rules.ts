import { classEnd } from "../pattern/expand-braces.ts";
import { globNode } from "../pattern/glob-node.ts";
import { Matcher } from "../pattern/matcher.ts";

/** The rules of one .gitignore. */
export interface IgnoreRules {
  /**
   * True: ignored, false: expressly not, undefined: it says nothing about this. From `start` on the
   * path is relative to the folder that the .gitignore lies in.
   */
  judge(path: string, start: number, name: string, isFolder: boolean): boolean | undefined;
}

interface Rule {
  readonly index: number;
  readonly ignores: boolean;
}

interface GlobRule extends Rule {
  readonly isAboutNames: boolean;
  readonly matcher: Matcher;
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
    let glob = line.replace(/\r$/, "").replace(/(?<!\\) +$/, "");
    if (glob === "" || glob.startsWith("#") || glob.length > longestRule) continue;
    const ignores = !glob.startsWith("!");
    if (!ignores) glob = glob.slice(1);
    const isForFoldersOnly = glob.endsWith("/");
    if (isForFoldersOnly) glob = glob.slice(0, -1);
    if (glob === "" || isBroken(glob)) continue;
    const rule = { index, ignores };
    forFolders.add(glob, rule);
    if (!isForFoldersOnly) forFiles.add(glob, rule);
  }
  return {
    judge: (path, start, name, isFolder) =>
      (isFolder ? forFolders : forFiles).judge(path, start, name),
  };
}

class RuleTable {
  readonly #names = new Map<string, Rule>();
  readonly #paths = new Map<string, Rule>();
  readonly #endings = new Map<string, Rule>();
  readonly #globs: GlobRule[] = [];

  add(glob: string, rule: Rule): void {
    const isAboutNames = !glob.includes("/");
    const path = glob.replace(/^\//, "");
    if (!/[*?[\\]/.test(path)) (isAboutNames ? this.#names : this.#paths).set(path, rule);
    else if (isAboutNames && /^\*\.[^*?[\\.]+$/.test(path)) this.#endings.set(path.slice(2), rule);
    else {
      // Worked out only now: most files never meet most rules.
      this.#globs.push({ ...rule, isAboutNames, matcher: new Matcher(globNode(path)) });
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
      if (rule.matcher.test(rule.isAboutNames ? name : path.slice(start))) return rule.ignores;
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
