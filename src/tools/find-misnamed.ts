import { nearestKey } from "../agents/documents/nearest-key.ts";
import type { Profile, ProfileFields } from "../agents/profiles/profile.ts";
import type { ProfileRegistry } from "../agents/profiles/profile-registry.ts";
import { type SkillRegistry, skillName } from "../agents/skills/skill.ts";
import type { Authority } from "../contracts/authority.ts";
import type { Selection } from "../contracts/selection.ts";
import { shippedScopes, shippedTools } from "./shipped-tools.ts";
import type { Toolbox } from "./toolbox.ts";

/** The names that are known here, by kind. */
export interface KnownNames {
  readonly tool: ReadonlySet<string>;
  readonly scope: ReadonlySet<string>;
  readonly skill?: ReadonlySet<string>;
  readonly profile?: ReadonlySet<string>;
}

/** A name in a profile that is not known. */
export interface Misnamed {
  readonly kind: keyof KnownNames;
  /** The dotted path of the field: `mayDelegate.tools`. */
  readonly field: string;
  readonly name: string;
  /** The one that was most likely meant; absent: it may be known elsewhere. */
  readonly meant?: string;
}

/** Comparing costs something, and a file can hold ten thousand unknown names. */
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

/** Where the names come from that a process knows. */
interface NameSources {
  readonly toolbox: Toolbox;
  readonly skills: Pick<SkillRegistry, "all">;
  readonly profiles: Pick<ProfileRegistry, "layersOf" | "names" | "problemOf">;
  readonly limits: { readonly onUnknownProfile: string | null };
}

/**
 * Why a profile with misspelt names is not started: a granted `read_fil` would be dropped, and a denied
 * `shel` would have no effect, without notice. A name that resembles no known one is only noted in the
 * receipt, since another machine may know it; a reviewer has to exist. `held`: names that the caller
 * holds count as known, because they may come from a machine with more tools.
 */
export function misnamedInProfile(
  from: NameSources,
  profile: Profile,
  held: () => Authority,
): string | undefined {
  const known = clean.get(from.toolbox) ?? new WeakSet();
  if (known.has(profile)) return undefined;
  const { limits, profiles } = from;
  const { name: own, origins = {} } = profile;
  // Files of other programs are read leniently: their tools have other names. Rules bind all the same.
  const foreign = profiles
    .layersOf(own)
    .flatMap(({ isForeign, origin }) => (isForeign ? [origin] : []));
  const found = findMisnamed(profile, namesKnownTo(from, held())).filter(
    ({ field, kind, meant, name }) => {
      if (field !== "toolRules" && foreign.includes(origins[field] ?? "")) return false;
      if (kind !== "profile") return meant !== undefined;
      return limits.onUnknownProfile === null && profiles.problemOf(name) === undefined;
    },
  );
  const [first] = found;
  if (first !== undefined) {
    const sentences = found.map((one) => describeMisnamed(own, one)).join(" ");
    return `${sentences} Correct the profile (${origins[first.field] ?? profile.origin}).`;
  }
  clean.set(from.toolbox, known.add(profile));
  return undefined;
}

/** Profiles without mistakes. One with mistakes is judged again: a skill may have been added. */
const clean = new WeakMap<Toolbox, WeakSet<Profile>>();

/** The misspelt tools in a request of a person or a program; a model's request is narrowed instead. */
export function misnamedTools(
  from: NameSources,
  tools: readonly string[],
  held: () => Authority,
): string | undefined {
  if (tools.every((tool) => from.toolbox.get(tool) !== undefined)) return undefined;
  const sentences = findMisnamed({ tools }, namesKnownTo(from, held())).flatMap(
    ({ meant, name }) =>
      meant === undefined ? [] : `There is no tool "${name}". Did you mean "${meant}"?`,
  );
  return sentences.length === 0 ? undefined : sentences.join(" ");
}

function namesKnownTo({ profiles, skills, toolbox }: NameSources, held: Authority): KnownNames {
  const scopes = toolbox.names.flatMap((name) => toolbox.get(name)?.scopes ?? []);
  return {
    tool: new Set([...toolbox.names, ...shippedTools, ...listed(held.tools)]),
    scope: new Set([...scopes, ...shippedScopes, ...listed(held.scopes)]),
    skill: new Set([...skills.all().map(({ name }) => name), ...listed(held.skills)]),
    profile: new Set(profiles.names()),
  };
}

function listed(selection: Selection): readonly string[] {
  return selection === "*" ? [] : selection;
}

function describeMisnamed(profile: string, { field, kind, meant, name }: Misnamed): string {
  const hint = meant === undefined ? "" : ` Did you mean "${meant}"?`;
  const what =
    field === "toolRules" ? `A rule of "${profile}" is about` : `"${profile}" names under ${field}`;
  const effect = field === "toolRules" ? " As it stands, the rule holds for nothing." : "";
  return `${what} "${name}", and there is no such ${kind}.${hint}${effect}`;
}
