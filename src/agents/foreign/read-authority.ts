import { isDeniedOutright } from "../../contracts/judge-by-rules.ts";
import type { ToolRule } from "../../contracts/tool-rule.ts";
import { isRecord } from "../../ports/parse-json.ts";
import type { ProfileFields } from "../profiles/profile.ts";
import { type AgentFormat, type ForeignAgent, shorten, type ToolsPlace } from "./agent-file.ts";
import { type AuthorityKey, authorityKey } from "./agent-keys.ts";
import { readAllowedTools } from "./allowed-tools.ts";
import { readAgents, readDeniedTools } from "./denied-tools.ts";
import { readHookedTools } from "./hooked-tools.ts";
import { readToolSettings } from "./kiro-settings.ts";
import { readServers, serversOf } from "./mcp-servers.ts";
import { readPermission } from "./permission.ts";
import { recordOf } from "./plain-data.ts";
import { readGroups } from "./roo-groups.ts";
import { readNames } from "./split-tools.ts";
import { combineAuthority, type ToolAuthority } from "./tool-authority.ts";
import { toMatches } from "./tool-patterns.ts";
import { writingTools } from "./tool-reference.ts";

type AuthorityFields = Pick<
  ProfileFields,
  "tools" | "toolRules" | "skills" | "mcpServers" | "servers" | "workspace"
>;

export interface ReadAuthority {
  readonly fields: AuthorityFields;
  /** The keys that were read. */
  readonly keys: ReadonlySet<string>;
  /** Settings of servers that have no effect here. */
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** Formats whose list of tools pre-approves calls and restricts nothing. */
const preApproving: ReadonlySet<AgentFormat> = new Set(["skill"]);

/** Formats in which a map of tools leaves unnamed tools as they are. */
const openMaps: ReadonlySet<AgentFormat> = new Set(["opencode", "opencode-json"]);

/**
 * Reads everything that restricts an agent, in any format. `more`: restrictions that the format's
 * own reader found.
 */
export function readAuthority(
  agent: ForeignAgent,
  more: {
    readonly parts?: readonly ToolAuthority[];
    readonly preApproved?: readonly string[];
  } = {},
): ReadAuthority {
  const { format, findings } = agent;
  const keys = new Map<string, AuthorityKey>();
  for (const key of Object.keys(agent.fields)) {
    const meaning = authorityKey(key, format);
    if (meaning === undefined || more.preApproved?.includes(key) === true) continue;
    if (meaning === "allow" && preApproving.has(format)) continue;
    keys.set(key, meaning);
  }
  const valuesOf = (meaning: AuthorityKey) =>
    [...keys]
      .filter(([, each]) => each === meaning)
      .map(([key]) => [key, agent.fields[key]] as const);

  const declared = readServers(agent, valuesOf("servers"));
  const placeOf = (field: string): ToolsPlace => {
    const line = agent.lineOf(field);
    const isOpenMap = openMaps.has(format);
    return { field, line, findings, servers: declared.names, format, isOpenMap };
  };
  let isReading = false;
  for (const [key, value] of [
    ...valuesOf("sandbox"),
    ...valuesOf("readonly"),
    ...valuesOf("permissionMode"),
  ]) {
    if (isReadOnly(keys.get(key), value, placeOf(key))) isReading = true;
    if (raisesNothing(value)) keys.delete(key);
  }
  const groups = valuesOf("groups").map(([key, value]) => readGroups(value, placeOf(key)));
  const skills = valuesOf("skills").map(([key, value]) => {
    const read = readSkills(value, format, placeOf(key));
    if (read.isSettings === true) keys.delete(key);
    return read;
  });
  const hooks = format === "skill" ? [] : Object.keys(agent.fields).filter(isHooks);
  const parts: ToolAuthority[] = [
    ...(more.parts ?? []),
    ...valuesOf("settings").flatMap(([key, value]) => readToolSettings(value, placeOf(key))),
    ...valuesOf("webSearch").map(([key, value]) => readWebSearch(value, placeOf(key))),
    ...skills,
    ...valuesOf("permission").map(([key, value]) => readPermission(value, placeOf(key))),
    ...groups,
    ...valuesOf("allow").map(([key, value]) => readAllowedTools(value, placeOf(key))),
    ...valuesOf("agents").map(([key, value]) => readAgents(value, placeOf(key))),
    ...valuesOf("deny").map(([key, value]) => readDeniedTools(value, placeOf(key))),
    { rules: declared.rules },
    ...hooks.flatMap((key) => readHookedTools(agent.fields[key], placeOf(key)) ?? []),
  ];
  if (isReading) parts.push({ rules: writingTools.map((tool) => ({ tool, action: "deny" })) });
  // Checked before rules are compared pairwise: a hostile file can hold a hundred thousand.
  const isTooMuch = parts.some(
    ({ rules, tools = [] }) => Math.max(rules.length, tools.length) > 1000,
  );
  if (isTooMuch) findings.refuse("more than 1,000 tools, or rules about them");
  const authority = withoutDenied(combineAuthority(isTooMuch ? [] : parts));
  const cannotWrite = isReading || groups.some((group) => !group.canEdit);
  const fields: AuthorityFields = {
    ...(authority.tools !== undefined && { tools: authority.tools }),
    ...(authority.rules.length > 0 && { toolRules: authority.rules }),
    ...skills[0]?.fields,
    ...(isDeniedOutright([authority.rules], "load_skill") && { skills: [] }),
    ...serversOf(authority, declared, agent),
    ...(authority.isWithoutServers === true && { mcpServers: [] }),
    ...(cannotWrite && { workspace: { allowWrites: false } }),
  };
  const metadata = Object.fromEntries(
    [...keys].flatMap(([key, meaning]) =>
      meaning === "settings" ? [[key, agent.fields[key]]] : [],
    ),
  );
  return { fields, keys: new Set(keys.keys()), metadata: { ...declared.rest, ...metadata } };
}

function isHooks(key: string): boolean {
  return /^hooks?$/i.test(key);
}

/** Drops tools of which every call is denied. */
function withoutDenied(authority: ToolAuthority): ToolAuthority {
  const { tools, rules } = authority;
  if (tools === undefined || tools === "*") return authority;
  const isDenied = (tool: string) => {
    const last = rules.findLast((rule) => rule.tool === tool || rule.tool === "*");
    return last?.action === "deny" && last.match === undefined;
  };
  return { ...authority, tools: tools.filter((tool) => !isDenied(tool)), rules };
}

const searching: ReadonlySet<unknown> = new Set([true, "live", "cached"]);

const silent: ReadonlySet<unknown> = new Set([false, "disabled"]);

/** Reads Codex's setting for web search. An unknown value denies. */
function readWebSearch(value: unknown, { field, findings, line }: ToolsPlace): ToolAuthority {
  const word = typeof value === "string" ? value.trim().toLowerCase() : value;
  if (searching.has(word)) return { rules: [] };
  if (!silent.has(word)) {
    findings.warn(`"${field}" is "${shorten(String(word))}"; it is taken as disabled`, line);
  }
  return { rules: [{ tool: "web_search", action: "deny" }] };
}

interface ReadSkills {
  readonly fields: Pick<ProfileFields, "skills">;
  readonly rules: readonly ToolRule[];
  /** The value configures how skills are found, and does not restrict them. */
  readonly isSettings?: boolean;
}

function readSkills(value: unknown, format: AgentFormat, place: ToolsPlace): ReadSkills {
  if (isRecord(value) && (format === "codex" || Array.isArray(value["config"]))) {
    return { fields: {}, rules: disabledSkills(value["config"]), isSettings: true };
  }
  const names = readNames(value, place);
  if (names === "*") return { fields: { skills: "*" }, rules: [] };
  const skills = names.filter((name) => /^[^\s*]{1,256}$/.test(name));
  for (const name of names.filter((each) => !skills.includes(each))) {
    place.findings.lose(place.field, "narrowed", `${shorten(name)} is not one skill's name`);
  }
  return { fields: { skills }, rules: [] };
}

/** Reads the skills that Codex disables, by folder or by name. */
function disabledSkills(config: unknown): readonly ToolRule[] {
  const tool = "load_skill";
  return (Array.isArray(config) ? config : []).flatMap((entry): readonly ToolRule[] => {
    const { enabled, name, path } = recordOf(entry);
    if (enabled === undefined || enabled === true) return [];
    const folder = String(path ?? "").replace(/[\\/]+(?:SKILL\.md)?$/i, "");
    const named = String(name ?? folder.split(/[\\/]/).at(-1));
    const matches = toMatches(tool, named, "deny");
    if (matches === undefined) return [{ tool, action: "deny" }];
    return matches.map((match) => ({ tool, match, action: "deny" }));
  });
}

const writingSandboxes = new Set(["workspace-write", "danger-full-access"]);

const writingModes = new Set(["default", "manual", "acceptEdits", "auto"]);

/**
 * In these modes unapproved calls are denied: without the list of approvals only reading is left.
 */
const strictModes = new Set(["plan", "dontAsk"]);

/** Permission modes of other programs that skip approvals. No file can skip approvals here. */
const sparingModes = new Set(["acceptEdits", "auto"]);

const raisingModes = new Set(["bypassPermissions", "yolo", "auto-approve", "danger-full-access"]);

/**
 * Whether the agent is read-only. An unknown value is: the key exists to restrict. A value that
 * asks for more grants nothing.
 */
export function isReadOnly(
  key: AuthorityKey | undefined,
  value: unknown,
  { field, findings, line }: ToolsPlace,
): boolean {
  const word = typeof value === "string" ? value.trim() : value;
  if (typeof word === "string" && raisingModes.has(word)) {
    findings.warn(`"${field}: ${word}" raises nothing here; what may be done is granted`, line);
    return false;
  }
  const isWriting =
    key === "readonly"
      ? word === false || word === "false" || word === "no"
      : typeof word === "string" && (key === "sandbox" ? writingSandboxes : writingModes).has(word);
  if (isWriting) return false;
  const isKnown =
    word === true || word === "read-only" || word === "readOnly" || strictModes.has(String(word));
  if (!isKnown) {
    const said = word === null ? "has no value" : `is "${shorten(String(word))}"`;
    findings.warn(`"${field}" ${said}, which is not known; it is taken as read-only`, line);
  }
  findings.lose(field, "narrowed", "files are only read; the shell is denied, since it can write");
  return true;
}

/** Whether a mode only skips approvals: it is kept without effect. */
function raisesNothing(value: unknown): boolean {
  return typeof value === "string" && sparingModes.has(value.trim());
}
