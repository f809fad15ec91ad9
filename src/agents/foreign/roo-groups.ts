import type { ToolRule } from "../../contracts/tool-rule.ts";
import { regexToGlobs } from "./file-regex.ts";
import { recordOf } from "./plain-data.ts";
import type { ToolAuthority } from "./tool-authority.ts";
import { shorten, type ToolsPlace } from "./tools-place.ts";

const toolsOfGroup: ReadonlyMap<string, readonly string[]> = new Map([
  ["read", ["read_file", "list_files", "glob", "grep"]],
  ["edit", ["edit_file", "write_file"]],
  ["command", ["shell"]],
]);

/** Roo's groups of tools. `edit` can be limited to files by a regular expression over their paths. */
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
  /** The files that each group is limited to; both limits hold where it is there twice. */
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
