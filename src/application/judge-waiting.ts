import type { Diagnostic } from "../agents/foreign/agent-file.ts";
import type { CutField, ProfileFields } from "../agents/profiles/profile.ts";
import { describeClash, findClash } from "../agents/profiles/profile-layer.ts";
import type { ProfileRegistry } from "../agents/profiles/profile-registry.ts";
import type { SkillRegistry } from "../agents/skills/skill.ts";
import { MandateError } from "../ports/mandate-error.ts";
import { findMisnamed, type KnownNames, type Misnamed } from "../tools/find-misnamed.ts";
import { changingTools, shippedScopes, shippedTools } from "../tools/shipped-tools.ts";
import type { WaitingContent, WaitingSources } from "./waiting-content.ts";

interface JudgedSources extends WaitingSources {
  readonly profiles: Pick<ProfileRegistry, "afterTrust" | "layersOf" | "names" | "pending">;
  readonly skills: Pick<SkillRegistry, "all" | "waiting">;
  /** The names of the configured MCP servers. */
  readonly servers: ReadonlySet<string>;
}

/** The warnings and errors for a person who decides about trust. */
function judgeWaiting(
  control: JudgedSources,
  { hash, name }: WaitingContent,
  /** Tools of the program, in addition to shipped ones. */
  tools: readonly string[] = [],
): readonly Diagnostic[] {
  const file = control.waitingFiles().find((each) => each.hash === hash);
  if (file !== undefined) {
    if (file.problem !== undefined) return [{ severity: "error", message: file.problem }];
    return (file.notTaken ?? []).map((message) => ({ severity: "warning", message }));
  }
  const layer = control.profiles.pending().find((each) => each.untrustedHash === hash);
  if (layer === undefined) return [];
  if (findClash([...control.profiles.layersOf(name), layer]) !== undefined) {
    return [{ severity: "error", message: describeClash(layer) }];
  }
  const skills = [...control.skills.all(), ...control.skills.waiting()];
  const known = {
    tool: new Set([...shippedTools, ...tools]),
    scope: shippedScopes,
    server: control.servers,
    skill: new Set(skills.map((skill) => skill.name)),
    profile: new Set([
      ...control.profiles.names(),
      ...control.profiles.pending().map((each) => each.name),
    ]),
  };
  const found = layer.isForeign === true ? [] : judgeFields(layer.fields, known);
  const cut = control.profiles.afterTrust(name)?.project?.cut ?? [];
  return [
    ...found.map(({ name: _name, ...diagnostic }) => diagnostic),
    ...cut.filter(({ origin }) => origin === layer.origin).map(describeCut),
  ];
}

/** Throws "profile-invalid" for content that could not be used, and returns its warnings. */
export function requireTrustable(
  control: JudgedSources,
  waiting: WaitingContent,
  tools: readonly string[] = [],
): readonly Diagnostic[] {
  const found = judgeWaiting(control, waiting, tools);
  const wrong = found.filter(({ severity }) => severity === "error");
  if (wrong.length === 0) return found;
  const reasons = wrong.map(({ message }) => message).join("; ");
  throw new MandateError(
    waiting.kind === "configuration" ? "config-invalid" : "profile-invalid",
    `"${waiting.name}" is not trusted, because it could not be used: ${reasons}. Correct ${waiting.file} first.`,
  );
}

/** The warning about a reduced value. */
export function describeCut({ asked, field, kept }: CutField): Diagnostic {
  const gets = kept === undefined ? "is not taken" : `counts as ${JSON.stringify(kept)}`;
  const message = `${field}: ${JSON.stringify(asked)} ${gets}: a project's file only narrows a profile that you already have`;
  return { severity: "warning", message };
}

/** The known names that a profile is checked against. */
export interface NamesForCheck extends KnownNames {
  /** The configured MCP servers; absent: unknown. */
  readonly server?: ReadonlySet<string>;
}

interface FieldFinding extends Diagnostic {
  /** The wrong name, to find its line. */
  readonly name?: string;
}

/**
 * Checks the names in a profile. A name similar to a known one is a typo, which would prevent a
 * start; any other unknown name may be known to a program.
 */
export function judgeFields(fields: ProfileFields, known: NamesForCheck): readonly FieldFinding[] {
  const misnamed = findMisnamed(fields, known)
    // A rule for an unknown tool restricts nothing.
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

/** Warns about a watcher with tools that change something, which are withheld from it. */
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
