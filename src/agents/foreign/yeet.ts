import type { ToolRule } from "../../contracts/tool-rule.ts";
import { isRecord } from "../../ports/parse-json.ts";
import { nearestKey } from "../documents/nearest-key.ts";
import type { Capability, ProfileFields, WorkspacePolicy } from "../profiles/profile.ts";
import { workspacePath } from "../profiles/profile-schema.ts";
import { type ForeignAgent, type ImportedAgent, shorten } from "./agent-file.ts";
import { yeetKeys } from "./detect-format.ts";
import { importAgent } from "./import-agent.ts";
import { recordOf } from "./plain-data.ts";
import type { ToolAuthority } from "./tool-authority.ts";
import { writingTools } from "./tool-reference.ts";

const known: readonly Capability[] = ["primary", "subtask", "watcher", "orchestrator"];

/**
 * A profile of yeet: an `id`, the path of a prompt, a map of tools with a mode for each, and two
 * maps that restrict.
 */
export function importYeet(agent: ForeignAgent): ImportedAgent {
  const { fields, findings } = agent;
  const { capabilities, defaultWorkspace, permissionOverrides, promptPath, tools } = fields;
  const body = typeof promptPath === "string" ? (agent.include(promptPath) ?? "") : "";
  const roles = readRoles(capabilities, agent);
  const policy = readMap(defaultWorkspace, "defaultWorkspace", agent);
  const overrides = readMap(permissionOverrides, "permissionOverrides", agent);
  const writing = overrides["allowWrites"] ?? policy["allowWrites"];
  const isReading = roles.includes("watcher") || (writing !== undefined && writing !== true);
  const denied = [
    ...(isReading ? writingTools : []),
    ...(isOff(overrides["allowShell"]) ? ["shell"] : []),
    ...(isOff(overrides["allowNetwork"]) ? ["web_fetch", "web_search"] : []),
  ];
  if (isReading)
    findings.lose("allowWrites", "narrowed", "the shell is denied, since it can write");
  const workspace = { ...readPlace(policy, agent), ...(isReading && { allowWrites: false }) };
  const own: ProfileFields = {
    capabilities: roles.length > 0 ? roles : ["subtask"],
    ...(isOff(overrides["allowNetwork"]) && { network: [] }),
    ...(Object.keys(workspace).length > 0 && { workspace }),
  };
  const rules = denied.map((tool): ToolRule => ({ tool, action: "deny" }));
  const parts: ToolAuthority[] = [{ rules }];
  const read = isRecord(tools) ? { ...fields, tools: readModes(tools, agent) } : fields;
  return importAgent(
    { ...agent, body, fields: read },
    {
      name: ["id", "name"],
      used: [...yeetKeys, "capabilities"],
      parts,
      fields: own,
    },
  );
}

/** A watcher writes nothing, so a role that is not known could have been one. */
function readRoles(value: unknown, { findings, lineOf }: ForeignAgent): readonly Capability[] {
  const said: readonly unknown[] = Array.isArray(value) ? value : [];
  const isKnown = said.every((each) => known.some((role) => role === each));
  if (value !== undefined && (!Array.isArray(value) || !isKnown)) {
    findings.refuse(`"capabilities" is not a list of ${known.join(", ")}`, lineOf("capabilities"));
  }
  return known.filter((role) => said.includes(role));
}

const knownOf = {
  defaultWorkspace: ["mode", "customPath", "allowWrites"],
  permissionOverrides: ["allowWrites", "allowShell", "allowNetwork"],
} as const;

/** A map that restricts. Of any other value or key nothing is known, so the agent is refused. */
function readMap(value: unknown, key: keyof typeof knownOf, { findings, lineOf }: ForeignAgent) {
  if (value !== undefined && !isRecord(value)) {
    findings.refuse(`"${key}" is not a map; what it restricts would be lost`, lineOf(key));
  }
  const keys: readonly string[] = knownOf[key];
  for (const each of Object.keys(recordOf(value)).filter((one) => !keys.includes(one))) {
    const meant = nearestKey(each, keys) ?? keys.join(", ");
    findings.refuse(`"${key}.${shorten(each)}" is not a key; is it ${meant}?`, lineOf(key));
  }
  return recordOf(value);
}

function isOff(value: unknown): boolean {
  return value !== undefined && value !== true;
}

/** `inherit` is the folder of the caller. A folder outside of the workspace becomes a copy. */
function readPlace(
  { customPath, mode }: Readonly<Record<string, unknown>>,
  { findings }: ForeignAgent,
): WorkspacePolicy {
  if (mode === undefined || mode === "inherit" || mode === "shared") return {};
  if (mode !== "custom") return { isolation: "sandbox" };
  const folder = workspacePath.safeParse(customPath);
  if (folder.success) return { isolation: "custom", folder: folder.data };
  const detail = "the path is not below the workspace; the agent works in a copy";
  findings.lose("defaultWorkspace.customPath", "narrowed", detail);
  return { isolation: "sandbox" };
}

/** Tools that only read, whatever their mode is. */
const reading = new Set(["read", "search"]);

const writingModes: ReadonlySet<unknown> = new Set([undefined, "write", "full"]);

/** `true` and `false` for each tool. A tool in a mode that cannot be kept is denied. */
function readModes(tools: Readonly<Record<string, unknown>>, { findings }: ForeignAgent) {
  return Object.fromEntries(
    Object.entries(tools).map(([tool, said]) => {
      if (!isRecord(said)) return [tool, said];
      const { enabled, mode } = said;
      const isKept = writingModes.has(mode) || (mode === "read" && reading.has(tool));
      const isLess = enabled === true && !isKept;
      const detail = `the mode "${shorten(String(mode))}" cannot be kept; it is denied`;
      if (isLess) findings.lose(`tools.${shorten(tool)}`, "narrowed", detail);
      return [tool, enabled === true && !isLess];
    }),
  );
}
