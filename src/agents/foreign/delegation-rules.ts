import type { ToolRule } from "../../contracts/tool-rule.ts";
import { readNames } from "./names.ts";
import { toProfileName } from "./to-profile-name.ts";
import type { ToolAuthority } from "./tool-authority.ts";
import { delegatingTools } from "./tool-names.ts";
import type { ToolsPlace } from "./tools-place.ts";

/**
 * Rules of one word, with what they take away of delegating taken from every tool that makes
 * children. The others know agents by other names than `delegate_task` does: a limit by name
 * cannot be carried over to them, and denies them.
 */
export function coverDelegating(rules: readonly ToolRule[]): readonly ToolRule[] {
  const about = rules.filter(({ tool }) => delegatingTools.includes(tool));
  const last = about.at(-1);
  if (last === undefined || about.every(({ action }) => action === "allow")) return rules;
  const isWhole = about.every(({ match }) => match === undefined);
  const action = isWhole ? last.action : "deny";
  const named = new Set(about.map(({ tool }) => tool));
  const others = delegatingTools.filter((tool) => !named.has(tool));
  return [...rules, ...others.map((tool): ToolRule => ({ tool, action }))];
}

/** Which agents it may delegate to: rules about delegating, since profiles are not a selection. */
export function readAgents(value: unknown, place: ToolsPlace): ToolAuthority {
  const names = readNames(value, place);
  if (names === "*") return { rules: [] };
  const tool = "delegate_task";
  const matches = new Set(names.map((name) => toProfileName(name, name)));
  const allowed = [...matches].map((match): ToolRule => ({ tool, match, action: "allow" }));
  return { rules: coverDelegating([{ tool, action: "deny" }, ...allowed]) };
}
