import type { Selection } from "../contracts/selection.ts";
import { nearestKey } from "../documents/nearest-key.ts";
import type { Profile, ProfileFields } from "../profiles/profile.ts";
import { skillName } from "../skills/skill-name.ts";

/** What there is by name, as far as somebody can say it here. */
export interface KnownNames {
  readonly tool: ReadonlySet<string>;
  readonly scope: ReadonlySet<string>;
  readonly skill?: ReadonlySet<string>;
  readonly profile?: ReadonlySet<string>;
}

/** A name in a profile that is nobody's. */
export interface Misnamed {
  readonly kind: keyof KnownNames;
  /** Its dotted path: `mayDelegate.tools`. */
  readonly field: string;
  readonly name: string;
  /** The one that was most likely meant; absent: it may be known elsewhere. */
  readonly meant?: string;
}

/** Comparing costs something, and a file can hold ten thousand names that are nobody's. */
const mostCompared = 100;

/** Every name in these fields that is not known. The tools of MCP servers are not known before. */
export function findMisnamed(
  fields: ProfileFields & Pick<Profile, "addedRules">,
  known: KnownNames,
): readonly Misnamed[] {
  const { addedRules = [], exit, mayDelegate, scopes, skills, toolRules = [], tools } = fields;
  const rules = [...toolRules, ...addedRules.flat()]
    .filter(({ action }) => action !== "allow")
    .map(({ tool }) => tool);
  const named: readonly (readonly [keyof KnownNames, string, Selection | undefined])[] = [
    ["tool", "tools", tools],
    ["tool", "toolRules", rules],
    ["tool", "exit.tools", exit?.tools],
    ["tool", "mayDelegate.tools", mayDelegate?.tools],
    ["scope", "scopes", scopes],
    ["scope", "mayDelegate.scopes", mayDelegate?.scopes],
    ["skill", "skills", skills],
    ["skill", "mayDelegate.skills", mayDelegate?.skills],
    ["profile", "exit.review", exit?.review && [exit.review.profile]],
  ];
  return named
    .flatMap(([kind, field, names]) => {
      const there = known[kind];
      if (there === undefined || names === undefined || names === "*") return [];
      const unknown = names.filter((name) => !isThere(kind, name, there));
      return [...new Set(unknown)].map((name) => ({ kind, field, name }));
    })
    .slice(0, mostCompared)
    .map((found) => {
      const { kind, name } = found;
      const meant = nearestKey(plain(kind, name), known[kind] ?? [], 2);
      return meant === undefined ? found : { ...found, meant };
    });
}

function isThere(kind: keyof KnownNames, name: string, there: ReadonlySet<string>): boolean {
  if (kind === "tool" && (name === "*" || name.startsWith("mcp__"))) return true;
  return there.has(plain(kind, name));
}

function plain(kind: keyof KnownNames, name: string): string {
  return kind === "skill" ? skillName(name) : name;
}
