import type { Selection } from "../../contracts/selection.ts";
import type { Profile } from "../../profiles/profile.ts";
import { findMisnamed, type KnownNames, type Misnamed } from "../../tools/find-misnamed.ts";
import { shippedScopes, shippedTools } from "../../tools/shipped-tools.ts";
import type { Toolbox } from "../../tools/toolbox.ts";
import type { EngineParts } from "../engine-parts.ts";
import { ceilingOf } from "./claims.ts";
import type { Start } from "./start-delegation.ts";

/**
 * What is wrong with a profile that asks for `read_fil`, or forbids `shel`: the one would be dropped
 * and the other hold for nothing, and nobody would see it. A name that is like none here is left to
 * the receipt: another machine may know it. Only who reviews has to be somebody.
 */
export function slipInProfile(start: Start, profile: Profile): string | undefined {
  const { parts } = start.run;
  const known = clean.get(parts.toolbox) ?? new WeakSet();
  if (known.has(profile)) return undefined;
  const isForeign = foreignFields(parts, profile);
  const slips = findMisnamed(profile, namesKnownTo(start)).filter(
    (slip) => isMistake(slip, parts) && !isForeign(slip.field),
  );
  if (slips.length > 0) {
    const place = profile.origins?.[slips[0]?.field ?? ""] ?? profile.origin;
    return `${slips.map((slip) => describeSlip(profile.name, slip)).join(" ")} Correct the profile (${place}).`;
  }
  clean.set(parts.toolbox, known.add(profile));
  return undefined;
}

/** A profile is asked for a thousand times; a bad one again, since a skill may have come to be. */
const clean = new WeakMap<Toolbox, WeakSet<Profile>>();

/** The tools that a person or a program asks for in the call; a model's are narrowed, and it is told. */
export function slipInRequest(start: Start): string | undefined {
  const { caller, request, run } = start;
  const { tools } = request;
  if (caller !== null || tools === undefined) return undefined;
  if (tools.every((tool) => run.parts.toolbox.get(tool) !== undefined)) return undefined;
  const slips = findMisnamed({ tools }, namesKnownTo(start)).filter(({ meant }) => meant);
  if (slips.length === 0) return undefined;
  return slips
    .map(({ meant, name }) => `There is no tool "${name}". Did you mean "${meant}"?`)
    .join(" ");
}

/** What the caller holds is known as well: it may have been granted where there are more tools. */
function namesKnownTo({ caller, run }: Start): KnownNames {
  const { profiles, skills, toolbox } = run.parts;
  const { authority } = ceilingOf(run, caller);
  const scopes = toolbox.names.flatMap((name) => toolbox.get(name)?.scopes ?? []);
  return {
    tool: new Set([...toolbox.names, ...shippedTools, ...listed(authority.tools)]),
    scope: new Set([...scopes, ...shippedScopes, ...listed(authority.scopes)]),
    skill: new Set([...skills.all().map(({ name }) => name), ...listed(authority.skills)]),
    profile: new Set(profiles.names()),
  };
}

function listed(selection: Selection): readonly string[] {
  return selection === "*" ? [] : selection;
}

/** Files of other programs are read leniently: their tools have other names. Rules bind all the same. */
function foreignFields(
  { profiles }: EngineParts,
  { name, origins = {} }: Profile,
): (field: string) => boolean {
  const foreign = profiles
    .layersOf(name)
    .flatMap(({ isForeign, origin }) => (isForeign ? [origin] : []));
  return (field) => field !== "toolRules" && foreign.includes(origins[field] ?? "");
}

function isMistake({ kind, meant, name }: Misnamed, { limits, profiles }: EngineParts): boolean {
  if (kind !== "profile") return meant !== undefined;
  return limits.onUnknownProfile === null && profiles.problemOf(name) === undefined;
}

function describeSlip(profile: string, { field, kind, meant, name }: Misnamed): string {
  const hint = meant === undefined ? "" : ` Did you mean "${meant}"?`;
  const what =
    field === "toolRules" ? `A rule of "${profile}" is about` : `"${profile}" names under ${field}`;
  const effect = field === "toolRules" ? " As it stands, the rule holds for nothing." : "";
  return `${what} "${name}", and there is no such ${kind}.${hint}${effect}`;
}
