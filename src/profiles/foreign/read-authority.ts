import { isDeniedOutright } from "../../contracts/judge-by-rules.ts";
import type { ProfileFields } from "../profile.ts";
import type { AgentFormat } from "./agent-file.ts";
import { readAllowedTools } from "./allowed-tools.ts";
import { type AuthorityKey, authorityKey } from "./authority-keys.ts";
import { readServers, serversOf } from "./declared-servers.ts";
import { readAgents } from "./delegation-rules.ts";
import { readDeniedTools } from "./denied-tools.ts";
import type { ForeignAgent } from "./foreign-agent.ts";
import { readHookedTools } from "./hooked-tools.ts";
import { readToolSettings } from "./kiro-settings.ts";
import { readPermission } from "./permission.ts";
import { isReadOnly, raisesNothing } from "./read-only.ts";
import { readSkills } from "./read-skills.ts";
import { readGroups } from "./roo-groups.ts";
import { combineAuthority, type ToolAuthority } from "./tool-authority.ts";
import { writingTools } from "./tool-names.ts";
import type { ToolsPlace } from "./tools-place.ts";
import { readWebSearch } from "./web-search.ts";

type AuthorityFields = Pick<
  ProfileFields,
  "tools" | "toolRules" | "skills" | "mcpServers" | "servers" | "workspace"
>;

export interface ReadAuthority {
  readonly fields: AuthorityFields;
  /** The keys that were used up. */
  readonly keys: ReadonlySet<string>;
  /** Of servers: what was said about them and has no effect here. */
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** Where a list approves calls beforehand, it restricts nothing. */
const preApproving: ReadonlySet<AgentFormat> = new Set(["skill"]);

/** Where a map of tools says nothing about the others. */
const openMaps: ReadonlySet<AgentFormat> = new Set(["opencode", "opencode-json"]);

/** Everything in a file that restricts its agent, in whichever dialect. `more`: what else does. */
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
    return { field, line, findings, servers: declared.names, isOpenMap: openMaps.has(format) };
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
    ...hooks.flatMap((key) => readHookedTools(agent.fields[key], placeOf(key), format) ?? []),
  ];
  if (isReading) parts.push({ rules: writingTools.map((tool) => ({ tool, action: "deny" })) });
  // Before they are compared with each other: a hostile file can hold a hundred thousand.
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

/** A tool that is denied whatever the call is about need not be listed. */
function withoutDenied(authority: ToolAuthority): ToolAuthority {
  const { tools, rules } = authority;
  if (tools === undefined || tools === "*") return authority;
  const isDenied = (tool: string) => {
    const last = rules.findLast((rule) => rule.tool === tool || rule.tool === "*");
    return last?.action === "deny" && last.match === undefined;
  };
  return { ...authority, tools: tools.filter((tool) => !isDenied(tool)), rules };
}
