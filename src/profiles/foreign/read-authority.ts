import type { ToolRule } from "../../contracts/tool-rule.ts";
import type { ProfileFields } from "../profile.ts";
import type { AgentFormat } from "./agent-file.ts";
import { readAllowedTools } from "./allowed-tools.ts";
import { type AuthorityKey, authorityKey } from "./authority-keys.ts";
import { readServers, serversOf } from "./declared-servers.ts";
import { readDeniedTools } from "./denied-tools.ts";
import type { ForeignAgent } from "./foreign-agent.ts";
import { readNames } from "./names.ts";
import { readPermission } from "./permission.ts";
import { isReadOnly } from "./read-only.ts";
import { readGroups } from "./roo-groups.ts";
import { toProfileName } from "./to-profile-name.ts";
import { combineAuthority, type ToolAuthority } from "./tool-authority.ts";
import { writingTools } from "./tool-names.ts";
import type { ToolsPlace } from "./tools-place.ts";

type AuthorityFields = Pick<
  ProfileFields,
  "tools" | "toolRules" | "skills" | "mcpServers" | "servers" | "workspace"
>;

export interface ReadAuthority {
  readonly fields: AuthorityFields;
  /** The keys that were used up. */
  readonly keys: ReadonlySet<string>;
}

/** Where a list approves calls beforehand, it restricts nothing. */
const preApproving: ReadonlySet<AgentFormat> = new Set(["skill"]);

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
    return { field, line: agent.lineOf(field), findings, servers: declared.names };
  };
  let isReading = false;
  for (const [key, value] of [
    ...valuesOf("sandbox"),
    ...valuesOf("readonly"),
    ...valuesOf("permissionMode"),
  ]) {
    if (isReadOnly(keys.get(key), value, placeOf(key))) isReading = true;
  }
  const groups = valuesOf("groups").map(([key, value]) => readGroups(value, placeOf(key)));
  const parts: ToolAuthority[] = [
    ...(more.parts ?? []),
    ...valuesOf("permission").map(([key, value]) => readPermission(value, placeOf(key))),
    ...groups,
    ...valuesOf("allow").map(([key, value]) => readAllowedTools(value, placeOf(key))),
    ...valuesOf("agents").map(([key, value]) => readAgents(value, placeOf(key))),
    ...valuesOf("deny").map(([key, value]) => readDeniedTools(value, placeOf(key))),
    { rules: declared.rules },
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
    ...skillsOf(valuesOf("skills"), placeOf),
    ...serversOf(authority.tools, declared, agent),
    ...(parts.some(({ isWithoutServers }) => isWithoutServers === true) && { mcpServers: [] }),
    ...(cannotWrite && { workspace: { allowWrites: false } }),
  };
  return { fields, keys: new Set(keys.keys()) };
}

/** A tool that is denied whatever the call is about need not be listed. */
function withoutDenied(authority: ToolAuthority): ToolAuthority {
  const { tools, rules } = authority;
  if (tools === undefined || tools === "*") return authority;
  const isDenied = (tool: string) => {
    const last = rules.findLast((rule) => rule.tool === tool || rule.tool === "*");
    return last?.action === "deny" && last.match === undefined;
  };
  return { tools: tools.filter((tool) => !isDenied(tool)), rules };
}

function skillsOf(
  values: readonly (readonly [string, unknown])[],
  placeOf: (field: string) => ToolsPlace,
): Pick<ProfileFields, "skills"> {
  const [key, value] = values[0] ?? [];
  if (key === undefined) return {};
  const names = readNames(value, placeOf(key));
  return { skills: names === "*" ? "*" : names.filter((name) => /^[^\s*]{1,256}$/.test(name)) };
}

/** Whom the agent may delegate to: rules about delegating, since profiles are not a selection. */
function readAgents(value: unknown, place: ToolsPlace): ToolAuthority {
  const names = readNames(value, place);
  if (names === "*") return { rules: [] };
  const tool = "delegate_task";
  const matches = new Set(names.flatMap((name) => [toProfileName(name, name)]));
  return {
    rules: [
      { tool, action: "deny" },
      ...[...matches].map((match): ToolRule => ({ tool, match, action: "allow" })),
    ],
  };
}
