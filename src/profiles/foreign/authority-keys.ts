import { nearestKey } from "../../documents/nearest-key.ts";
import type { AgentFormat } from "./agent-file.ts";

/** What a key that restricts says, in whichever of its spellings. */
export type AuthorityKey =
  | "allow"
  | "deny"
  | "permission"
  | "permissionMode"
  | "sandbox"
  | "readonly"
  | "groups"
  | "servers"
  | "skills"
  | "agents";

/** Without case, `-` and `_`: a restriction counts however it is spelt, and wherever it comes from. */
const meanings: ReadonlyMap<string, AuthorityKey> = new Map(
  (
    [
      ["allow", "tools allowedtools enabledtools availabletools includetools"],
      ["deny", "disallowedtools deniedtools denytools excludetools excludedtools blockedtools"],
      ["deny", "restrictedtools forbiddentools disabledtools"],
      ["permission", "permission permissions"],
      ["permissionMode", "permissionmode"],
      ["sandbox", "sandboxmode sandbox"],
      ["readonly", "readonly"],
      ["servers", "mcpservers"],
      ["skills", "skills"],
      ["agents", "agents"],
    ] as const
  ).flatMap(([meaning, words]) => words.split(" ").map((word) => [word, meaning] as const)),
);

/** The spellings that people mean when they misspell one. */
const suggested = [
  ...["tools", "allowed-tools", "allowedTools", "disallowedTools", "permission", "permissionMode"],
  ...["sandbox_mode", "readonly", "mcpServers", "mcp-servers", "mcp_servers"],
  ...["maxTurns", "max_turns", "maxSteps", "timeout_mins"],
];

/** A line of a front matter that begins with one of these and is not read as one is an error. */
export const guardedKeys: ReadonlySet<string> = new Set([
  ...["tools", "allowed-tools", "allowedTools", "disallowedTools"],
  ...["disallowed-tools", "permission", "permissions", "permissionMode", "sandbox_mode"],
  ...["readonly", "mcpServers", "mcp-servers"],
  ...["maxTurns", "max_turns", "maxSteps", "timeout_mins"],
]);

export function authorityKey(key: string, format: AgentFormat): AuthorityKey | undefined {
  if (format === "roo" && squash(key) === "groups") return "groups";
  return meanings.get(squash(key));
}

/** Keys of some format that are near a restriction by chance. */
const bystanders = new Set([...["toolsSettings", "toolAliases", "skill", "agent"]]);

/** The restriction that an unknown key may have been meant for. */
export function nearestAuthorityKey(key: string, format: AgentFormat): string | undefined {
  // Longer than any of them with a mistake in it, and most keys are not near one.
  if (bystanders.has(key) || key.length > 20) return undefined;
  // Nearly any other key is data: three slips away lie «max_tokens» and «submission».
  const nearest = nearestKey(key, format === "roo" ? [...suggested, "groups"] : suggested, 2);
  return nearest ?? nearestKey(key, ["agents", "skills"], 1);
}

function squash(key: string): string {
  return key.toLowerCase().replaceAll(/[-_\s]/g, "");
}
