import { rankByText } from "../../agents/documents/catalogue.ts";
import { nearestKey } from "../../agents/documents/nearest-key.ts";
import type { ModelPolicy, Profile } from "../../agents/profiles/profile.ts";
import type { ProfileRegistry } from "../../agents/profiles/profile-registry.ts";
import type { EntryClaims } from "../../contracts/narrow.ts";
import type { ReceiptLine } from "../../contracts/receipt.ts";
import type { DelegationRequest, DelegationWay } from "../../ports/delegator.ts";
import { MandateError, type MandateErrorCode } from "../../ports/mandate-error.ts";
import type { AgentEntry } from "./agent-registry.ts";
import { claimsOfEntry } from "./profile-claims.ts";

/**
 * The profile of a delegation, and the claims of the registered agent, if a handle was requested.
 */
export interface Resolved {
  readonly profile: Profile;
  readonly agent?: string;
  readonly entry?: EntryClaims;
  readonly receipt: readonly ReceiptLine[];
}

export type Unresolved = {
  readonly rule: string;
  readonly reason: string;
  /** A suggestion for people; the texts for models are fixed. */
  readonly hint?: string;
  /** The valid names, for an unknown name. */
  readonly known?: readonly string[];
  /** The environment is at fault, not the request: to skip the request would not help the run. */
  readonly isFault?: true;
  /** The error code for a caller that is no agent; absent: refused by policy. */
  readonly code?: MandateErrorCode;
};

/** The way in which a delegation is requested. */
export type StartWay = DelegationWay | "root" | "session" | "watch";

export interface ProfileLookup {
  readonly agents: {
    entry(agentId: string): AgentEntry | undefined;
    all(): readonly AgentEntry[];
  };
  readonly profiles: Pick<ProfileRegistry, "get" | "names" | "problemOf">;
  readonly limits: { readonly onUnknownProfile: string | null };
}

export function resolveProfile(
  from: ProfileLookup,
  request: DelegationRequest,
  way: StartWay,
): Resolved | Unresolved {
  const handle = handleIn(request);
  if (handle !== undefined) return resolveAgent(from, handle, way);
  // A delegation without a profile has its caller's tools and the default files.
  const isUnnamed = way === "spawn" && request.profile === undefined;
  const wasUnnamed = request.resumedFrom !== undefined && request.profile === unnamedProfile.name;
  if (isUnnamed || wasUnnamed) return { profile: unnamedProfile, receipt: [] };
  return resolveName(from, request.profile ?? "general", way);
}

/** A profile can be named by a handle: then the registry is used. */
function handleIn({ agent, profile }: DelegationRequest): string | undefined {
  return agent ?? (profile?.startsWith("@") ? profile : undefined);
}

export function isHandle(request: DelegationRequest): boolean {
  return handleIn(request) !== undefined;
}

const unnamedProfile: Profile = {
  name: "spawn",
  description: "A job without a profile",
  capabilities: ["subtask"],
  prompt: "",
  origin: "spawn",
};

function resolveAgent(from: ProfileLookup, agent: string, way: StartWay): Resolved | Unresolved {
  const entry = from.agents.entry(agent);
  if (entry === undefined) {
    const known = agentsFor(from, way).map(({ agentId }) => agentId);
    return { rule: "agent", reason: `unknown agent '${agent}'`, ...others(agent, known) };
  }
  const { profileId } = entry;
  const profile = from.profiles.get(profileId);
  if (profile === undefined) {
    const problem = from.profiles.problemOf(profileId);
    const why = problem === undefined ? "does not exist." : `cannot be used: ${problem.message}`;
    const reason = `The agent ${agent} has the profile "${profileId}", which ${why}`;
    return { rule: "profile_missing", reason };
  }
  return unfit(profile, way) ?? { profile, agent, entry: claimsOfEntry(entry), receipt: [] };
}

function resolveName(from: ProfileLookup, asked: string, way: StartWay): Resolved | Unresolved {
  const { limits, profiles } = from;
  const found = profiles.get(asked);
  // A broken profile is not replaced by the profile for unknown names.
  const problem = found === undefined ? profiles.problemOf(asked) : undefined;
  if (problem !== undefined) return { rule: "profile_unusable", reason: problem.message };
  const profile =
    found ?? (limits.onUnknownProfile === null ? undefined : profiles.get(limits.onUnknownProfile));
  if (profile === undefined) {
    const known = profiles.names().filter((name) => {
      const one = profiles.get(name);
      return one !== undefined && one.hidden !== true && unfit(one, way) === undefined;
    });
    return { rule: "profile", reason: `unknown profile '${asked}'`, ...others(asked, known) };
  }
  const refused = unfit(profile, way);
  if (refused !== undefined) return refused;
  if (found !== undefined) return { profile, receipt: [] };
  const reason = `there is no profile '${asked}'`;
  const line = { field: "profile" as const, requested: asked, granted: profile.name, reason };
  return { profile, receipt: [line] };
}

/** The registered agents whose profile exists and accepts this way. */
export function agentsFor(
  {
    agents,
    profiles,
  }: Pick<ProfileLookup, "agents"> & { readonly profiles: Pick<ProfileRegistry, "get"> },
  way: StartWay,
): readonly AgentEntry[] {
  return agents.all().filter(({ profileId }) => {
    const profile = profiles.get(profileId);
    return profile !== undefined && unfit(profile, way) === undefined;
  });
}

/** The nearest name first. */
function others(asked: string, known: readonly string[]): Pick<Unresolved, "hint" | "known"> {
  const name = nearestKey(asked, known);
  const similar = rankByText(known, asked, (each) => each);
  const nearest = [...new Set([...(name === undefined ? [] : [name]), ...similar, ...known])];
  return { known: nearest, ...(name !== undefined && { hint: `Did you mean '${name}'?` }) };
}

/** The valid names, to append to the fixed text of a refusal. */
export function knownNames(known: readonly string[] | undefined): string {
  if (known === undefined) return "";
  if (known.length === 0) return " Known: none.";
  const rest = known.length - mostNames;
  const more = rest > 0 ? ` and ${rest} more` : "";
  return ` Known: ${known.slice(0, mostNames).join(", ")}${more}.`;
}

const mostNames = 20;

/** The error for a refused run, which has no log. */
export function refusal({
  code = "refused-by-policy",
  hint,
  known,
  reason,
  rule,
}: Unresolved): MandateError {
  if (rule === "task")
    return new MandateError("task-required", "A run needs a task: say what is to be done.");
  const plain = `${reason.replace(/^unknown/, "There is no")}.`;
  const sentence = hint === undefined ? `${plain}${knownNames(known)}` : `${plain} ${hint}`;
  if (rule === "profile") return new MandateError("unknown-profile", sentence);
  if (rule === "agent") return new MandateError("unknown-agent", sentence);
  return new MandateError(code, reason);
}

/** The reason why a profile cannot be used this way; undefined: it can. */
function unfit(profile: Profile, way: StartWay): Unresolved | undefined {
  const { capabilities, name, workspace } = profile;
  const isChild = way === "spawn" || way === "delegate" || way === "background";
  const isFit = capabilities.some((each) =>
    way === "watch"
      ? each === "watcher"
      : each === "subtask" || each === "orchestrator" || (!isChild && each === "primary"),
  );
  if (!isFit) {
    const reason = `"${name}" is a profile for ${capabilities.join(" and ")} agents only, and cannot be given a task this way.`;
    return { rule: "capability", reason };
  }
  // A condition of the profile that cannot be enforced is refused, not ignored.
  const { approval, checks, isolation = "sandbox" } = workspace ?? {};
  if (isolation !== "sandbox" && (approval === true || (checks?.length ?? 0) > 0)) {
    const reason = `"${name}" works in place (${isolation}), where nothing is merged: its checks and its approval could not be kept. Leave out its isolation, or say copy.`;
    return { rule: "promise", reason };
  }
  return undefined;
}

interface Models {
  candidates(policy: ModelPolicy): readonly string[];
}

interface LookupForModels extends Pick<ProfileLookup, "agents"> {
  readonly profiles: Pick<ProfileRegistry, "get" | "offered">;
  readonly models: Models;
}

/**
 * Throws when a named profile or handle has no available model, so that nothing is stored for work
 * that cannot start. Unknown names are refused at the start. Without names, throws when no profile
 * has a model.
 */
export function requireModel(from: LookupForModels, names: readonly string[]): void {
  const { agents, models, profiles } = from;
  let isAnyKnown = false;
  for (const name of names) {
    const id = name.startsWith("@") ? agents.entry(name)?.profileId : name;
    const profile = id === undefined ? undefined : profiles.get(id);
    if (profile === undefined) continue;
    isAnyKnown = true;
    models.candidates(profile.model ?? {});
  }
  if (isAnyKnown) return;
  const obstacle = obstacleTo(models, {});
  if (obstacle === undefined) return;
  const policies = profiles.offered().flatMap(({ model }) => model ?? []);
  if (policies.every((policy) => obstacleTo(models, policy) !== undefined)) throw obstacle;
}

function obstacleTo(models: Models, policy: ModelPolicy): MandateError | undefined {
  try {
    models.candidates(policy);
    return undefined;
  } catch (error) {
    if (error instanceof MandateError) return error;
    throw error;
  }
}
