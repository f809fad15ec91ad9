import { isExpressible } from "../profiles/profile.ts";
import { toProfileName } from "./to-profile-name.ts";

const paths = new Set(["read_file", "write_file", "edit_file", "list_files", "glob", "grep"]);
const maximumGlobs = 50;

/**
 * Our globs for a pattern of another program. An exception must match at most the same calls, a
 * denial at least the same. Undefined when that is not possible.
 */
export function toMatches(
  tool: string,
  pattern: string,
  action: "allow" | "ask" | "deny",
): readonly string[] | undefined {
  const matches = translate(tool, pattern.trim(), action === "allow")?.map((match) =>
    isExpressible({ tool, match, action }) || action === "allow" ? match : broaden(match),
  );
  if (matches === undefined || matches.length === 0) return undefined;
  const isUsable = matches.every(
    (match) => match !== "" && match.length <= 1024 && isExpressible({ tool, match, action }),
  );
  return isUsable ? matches : undefined;
}

/** Whether a denial of this pattern covers more here than in its own program. */
export function isBroadened(tool: string, pattern: string): boolean {
  return paths.has(tool) ? /[[\]~]/.test(pattern) : /[{}[\]~]/.test(pattern);
}

/**
 * A denial with characters that no pattern of ours has covers the text as written, what a shell
 * makes of it, and more.
 */
function broaden(match: string): string {
  return match.replaceAll(/\[[^\]]*\]|\{[^{}]*\}/g, "*").replaceAll(/[{}[\]~]/g, "?");
}

function translate(tool: string, pattern: string, allows: boolean): readonly string[] | undefined {
  if (pattern === "" || pattern.length > 1024) return undefined;
  if (paths.has(tool)) return allows ? allowedPaths(pattern) : deniedPaths(pattern);
  if (tool === "web_fetch") return addresses(pattern, allows);
  if (tool === "delegate_task") return agents(pattern, allows);
  if (tool === "load_skill") return skills(pattern, allows);
  // `git diff:*` matches that command, alone or with arguments.
  const prefix =
    /^(.*):\*$/s.exec(pattern)?.[1] ?? (allows ? undefined : /^(.*) \*$/s.exec(pattern)?.[1]);
  return prefix === undefined ? [pattern] : [prefix, `${prefix} *`];
}

function allowedPaths(pattern: string): readonly string[] | undefined {
  if (/^(?:~|\/\/|\$|[A-Za-z]:)|\.\.|[[\]!\\]/.test(pattern)) return undefined;
  const relative = pattern.replace(/^\.?\//, "").replace(/\/$/, "/**");
  // In other programs one star crosses folders; here only two do.
  return expandBraces(relative.replace(/^\*(?!\*)/, "**/*"));
}

function deniedPaths(pattern: string): readonly string[] | undefined {
  const isAnywhere = /^(?:~|\/|\$|[A-Za-z]:)|\.\./.test(pattern);
  const tail = pattern
    .replace(/^\$\{?\w+\}?|^[A-Za-z]:/, "")
    .replace(/^(?:\.\.?[\\/]|[~\\/])+/, "")
    .replaceAll("**/", "*")
    .replaceAll(/\[[^\]]*\]/g, "?")
    .replace(/\/$/, "/*");
  return expandBraces(isAnywhere ? `*${tail}` : tail)?.map((glob) => (glob === "" ? "*" : glob));
}

function expandBraces(pattern: string): readonly string[] | undefined {
  let globs = [pattern];
  for (;;) {
    const next = globs.flatMap((glob) => {
      const [, before, inside, after] = /^(.*?)\{([^{}]*)\}(.*)$/s.exec(glob) ?? [];
      if (inside === undefined) return [glob];
      return inside.split(",").map((choice) => `${before}${choice}${after}`);
    });
    if (next.length > maximumGlobs) return undefined;
    if (next.length === globs.length && next.every((glob, index) => glob === globs[index])) break;
    globs = next;
  }
  return globs.some((glob) => /[{}]/.test(glob)) ? undefined : globs;
}

function addresses(pattern: string, allows: boolean): readonly string[] | undefined {
  const host = /^domain:\s*([\w.-]+)$/.exec(pattern)?.[1];
  if (host === undefined) return allows && pattern.includes("domain:") ? undefined : [pattern];
  return allows ? [`https://${host}`, `https://${host}/*`] : [`*${host}*`];
}

/** Skills have normalised names: a denial covers the name as written and normalised. */
function skills(pattern: string, allows: boolean): readonly string[] | undefined {
  const isPattern = /[*?]/.test(pattern);
  if (isPattern && allows) return undefined;
  const slug = pattern.toLowerCase().replaceAll(/[^\p{L}\p{M}\p{N}._*?-]+/gu, "-");
  return allows ? [slug] : [...new Set([pattern, slug])];
}

function agents(pattern: string, allows: boolean): readonly string[] | undefined {
  if (/[*?]/.test(pattern)) return allows ? undefined : [pattern];
  const names = pattern.split(",").map((name) => name.trim());
  const action = allows ? "allow" : "deny";
  const isWritten = (match: string) => isExpressible({ tool: "delegate_task", match, action });
  return [...new Set(names.flatMap((name) => [name, toProfileName(name, name)]))].filter(isWritten);
}
