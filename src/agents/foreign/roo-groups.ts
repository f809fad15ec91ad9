import type { ToolRule } from "../../contracts/tool-rule.ts";
import { shorten, type ToolsPlace } from "./agent-file.ts";
import { recordOf } from "./plain-data.ts";
import type { ToolAuthority } from "./tool-authority.ts";

const toolsOfGroup: ReadonlyMap<string, readonly string[]> = new Map([
  ["read", ["read_file", "list_files", "glob", "grep"]],
  ["edit", ["edit_file", "write_file"]],
  ["command", ["shell"]],
]);

/** Reads Roo's groups of tools. A regular expression can limit `edit` to certain paths. */
export function readGroups(
  value: unknown,
  { field, findings, line }: ToolsPlace,
): ToolAuthority & { readonly canEdit: boolean } {
  if (!Array.isArray(value)) {
    const said = value === null || value === undefined ? "has no value" : "is not a list";
    findings.warn(`"${field}" ${said}; no tool is allowed`, line);
    return { tools: [], rules: [], canEdit: false };
  }
  const tools = new Set<string>();
  /** The globs of each group; for a group that is listed twice, both limits apply. */
  const limited = new Map<string, readonly string[]>();
  const groups = new Set<string>();
  for (const item of value) {
    const [name, limits]: readonly unknown[] = Array.isArray(item) ? item : [item];
    const group = typeof name === "string" ? name.trim().toLowerCase() : "";
    const granted = toolsOfGroup.get(group);
    if (granted === undefined) {
      const detail = group === "mcp" ? "name the servers whose tools it may use" : "not known here";
      findings.lose(field, "narrowed", `${shorten(String(name))} is not allowed: ${detail}`);
      continue;
    }
    const globs = limits === undefined ? undefined : globsOf(limits);
    if (limits !== undefined && globs === undefined) {
      const detail = `${group} is not allowed: its limit cannot be kept as globs`;
      findings.lose(field, "narrowed", detail);
      limited.set(group, []);
      continue;
    }
    groups.add(group);
    const before = limited.get(group);
    if (globs === undefined) continue;
    if (before !== undefined) {
      const detail = `${group} is limited twice; only what both limits name alike is allowed`;
      findings.lose(field, "narrowed", detail);
    }
    limited.set(group, before?.filter((glob) => globs.includes(glob)) ?? globs);
  }
  const rules: ToolRule[] = [];
  for (const group of groups) {
    const globs = limited.get(group);
    if (globs?.length === 0) continue;
    for (const tool of toolsOfGroup.get(group) ?? []) {
      tools.add(tool);
      if (globs === undefined) continue;
      rules.push({ tool, action: "deny" });
      rules.push(...globs.map((match): ToolRule => ({ tool, match, action: "allow" })));
    }
  }
  return { tools: [...tools], rules, canEdit: tools.has("edit_file") };
}

function globsOf(limits: unknown): readonly string[] | undefined {
  const { fileRegex } = recordOf(limits);
  return typeof fileRegex === "string" ? regexToGlobs(fileRegex) : undefined;
}

const maximumGlobs = 40;

/**
 * Converts a regular expression over paths to globs that allow at most the same. Undefined when
 * that is not possible.
 * @example regexToGlobs("^docs/") // ["docs/**"]
 */
export function regexToGlobs(source: string): readonly string[] | undefined {
  if (source.length > 500) return undefined;
  const alternatives = expand(source);
  if (alternatives === undefined) return undefined;
  const globs = alternatives.map(toGlob);
  return globs.every((glob) => glob !== undefined) ? globs : undefined;
}

/** Expands groups with alternatives, so that each result has none. */
function expand(source: string): string[] | undefined {
  const { parts, isValid } = splitTop(source);
  if (!isValid) return undefined;
  const results: string[] = [];
  for (const part of parts) {
    const group = findGroup(part);
    if (group === undefined) {
      results.push(part);
      continue;
    }
    const [before, inside, after] = group;
    const isPlain = !/^[*+?{]/.test(after) && /^(?:\?:|[^?])/.test(inside);
    const choices = isPlain ? expand(inside.replace(/^\?:/, "")) : undefined;
    if (choices === undefined) return undefined;
    for (const choice of choices) {
      const more = expand(`${before}${choice}${after}`);
      if (more === undefined) return undefined;
      results.push(...more);
    }
    if (results.length > maximumGlobs) return undefined;
  }
  return results;
}

function splitTop(source: string): { readonly parts: string[]; readonly isValid: boolean } {
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  for (let index = 0; index < source.length; index += 1) {
    const character = source[index];
    if (character === "\\") index += 1;
    else if (character === "(") depth += 1;
    else if (character === ")") depth -= 1;
    else if (character === "|" && depth === 0) {
      parts.push(source.slice(start, index));
      start = index + 1;
    }
    if (depth < 0) return { parts, isValid: false };
  }
  parts.push(source.slice(start));
  return { parts, isValid: depth === 0 };
}

function findGroup(source: string): readonly [string, string, string] | undefined {
  let depth = 0;
  let start = -1;
  for (let index = 0; index < source.length; index += 1) {
    const character = source[index];
    if (character === "\\") index += 1;
    else if (character === "(") {
      if (depth === 0) start = index;
      depth += 1;
    } else if (character === ")") {
      depth -= 1;
      if (depth === 0) {
        return [source.slice(0, start), source.slice(start + 1, index), source.slice(index + 1)];
      }
    }
  }
  return undefined;
}

/** Converts one alternative: plain and escaped characters, `.*`, `.+`, `[^/]*`, and anchors. */
function toGlob(source: string): string | undefined {
  const isStart = source.startsWith("^");
  const isEnd = /(?:^|[^\\])\$$/.test(source);
  const inside = source.slice(isStart ? 1 : 0, isEnd ? -1 : undefined);
  let glob = isStart ? "" : "**/*";
  // A dot for any character becomes a literal dot, which allows less.
  const piece =
    /\.(?:[*+]\??|(?![*+?{]))|\[\^\/\][*+]|\\[^A-Za-z0-9]|[\w\-/ @,:;=~#%&!<>"']|[^\0-\x7f]/uy;
  while (piece.lastIndex < inside.length) {
    const at = piece.lastIndex;
    const found = piece.exec(inside)?.[0];
    if (found === undefined) return undefined;
    if (/^(?:\.|\[\^\/\])[*+]/.test(found)) {
      const isAnyPath = found.startsWith(".") && /(?:^|\/)$/.test(glob);
      glob += (isAnyPath ? "**/*" : star(glob)) + (found.includes("+") ? "?" : "");
    } else {
      const character = found.startsWith("\\") ? found.slice(1) : found;
      if (/[*?{}[\]!]/.test(character)) return undefined;
      glob += character;
    }
    if (piece.lastIndex === at) return undefined;
  }
  if (!isEnd && !glob.endsWith("*")) glob += glob.endsWith("/") ? "**" : "*";
  // `docs/**` is the shorter form of `docs/**/*`.
  return glob === "" ? undefined : glob.replace(/\*\*\/\*$/, "**");
}

function star(glob: string): string {
  return glob.endsWith("*") ? "" : "*";
}
