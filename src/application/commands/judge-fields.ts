import type { Diagnostic } from "../../agents/foreign/agent-file.ts";
import type { ProfileFields } from "../../agents/profiles/profile.ts";
import { findMisnamed, type KnownNames, type Misnamed } from "../../tools/find-misnamed.ts";
import { changingTools } from "../../tools/shipped-tools.ts";

/** The names that a check can hold a profile against. */
export interface NamesForCheck extends KnownNames {
  /** The MCP servers that are configured; absent: they are unknown here. */
  readonly server?: ReadonlySet<string>;
}

export interface FieldFinding extends Diagnostic {
  /** The name that it is about, for finding its line. */
  readonly name?: string;
}

/**
 * What is wrong with a profile beyond its syntax. A name that is like a known one is a typo, and the
 * profile would not be started; one that is like none may be known to a program, or elsewhere.
 */
export function judgeFields(fields: ProfileFields, known: NamesForCheck): readonly FieldFinding[] {
  const misnamed = findMisnamed(fields, known)
    // A rule for what is not here takes nothing away.
    .filter(({ field, meant }) => meant !== undefined || field !== "toolRules")
    .map(describeMisnamed);
  return [...misnamed, ...unknownServers(fields, known), ...toolsOfWatcher(fields)];
}

function describeMisnamed({ field, kind, meant, name }: Misnamed): FieldFinding {
  const what = `${field}: there is no ${kind} "${name}"`;
  return meant === undefined
    ? { severity: "warning", name, message: `${what} here; it counts only where there is one` }
    : { severity: "error", name, message: `${what}; did you mean "${meant}"?` };
}

function unknownServers(
  { mcpServers, servers = {} }: ProfileFields,
  { server: known }: NamesForCheck,
): readonly FieldFinding[] {
  if (known === undefined || mcpServers === undefined || mcpServers === "*") return [];
  return mcpServers
    .filter((name) => !known.has(name) && !Object.hasOwn(servers, name))
    .map((name) => ({
      severity: "warning" as const,
      name,
      message: `mcpServers: there is no MCP server "${name}" here; the profile starts only where one is configured under mcp.servers`,
    }));
}

/** A watcher looks and remarks. Tools that change something are withheld from it. */
function toolsOfWatcher({ capabilities = [], tools }: ProfileFields): readonly FieldFinding[] {
  if (!capabilities.includes("watcher") || tools === undefined || tools === "*") return [];
  const changing = tools.filter((tool) => changingTools.has(tool) || tool.startsWith("mcp__"));
  if (changing.length === 0) return [];
  const when = capabilities.length === 1 ? "a watcher" : "an agent that watches";
  const message = `tools: ${when} changes nothing, so it does not get ${changing.join(", ")}; take them out, or the capability "watcher"`;
  return [
    { severity: "warning", ...(changing[0] !== undefined && { name: changing[0] }), message },
  ];
}
