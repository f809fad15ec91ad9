import type { EntryClaims } from "../../contracts/narrow.ts";
import type { ReceiptLine } from "../../contracts/receipt.ts";
import type { AgentEntry } from "../../control/records/agent-registry.ts";
import { nearestKey } from "../../documents/nearest-key.ts";
import type { DelegationRequest } from "../../ports/delegator.ts";
import { MandateError, type MandateErrorCode } from "../../ports/mandate-error.ts";
import type { Profile } from "../../profiles/profile.ts";
import { skillName } from "../../skills/skill-name.ts";
import type { EngineParts } from "../engine-parts.ts";
import { sessionProfile } from "./session-profile.ts";
import type { Start } from "./start-delegation.ts";

/** Who does it: the profile, and what the registry says when it was asked for by its handle. */
export interface Resolved {
  readonly profile: Profile;
  readonly agent?: string;
  readonly entry?: EntryClaims;
  readonly receipt: readonly ReceiptLine[];
}

export type Unresolved = {
  readonly rule: string;
  readonly reason: string;
  /** What was most likely meant, for people: the words that models get are fixed. */
  readonly hint?: string;
  /** Of an unknown name: the names that would have been accepted. */
  readonly known?: readonly string[];
  /** The machine is in the way, not the request: the run cannot succeed by passing over it. */
  readonly isFault?: true;
  /** The code of the error for a caller that is no agent; absent: refused by policy. */
  readonly code?: MandateErrorCode;
};

export function resolveProfile(start: Start): Resolved | Unresolved {
  const { client, request, run, way } = start;
  if (client !== undefined) return { profile: sessionProfile(client), receipt: [] };
  const handle = handleIn(request);
  if (handle !== undefined) return resolveAgent(run.parts, handle, way);
  // A job without a profile is nobody in particular: its caller's tools, and the default files.
  const isUnnamed = way === "spawn" && request.profile === undefined;
  const wasUnnamed = request.resumedFrom !== undefined && request.profile === unnamedProfile.name;
  if (isUnnamed || wasUnnamed) return { profile: unnamedProfile, receipt: [] };
  return resolveName(run.parts, request, way);
}

/** A handle may stand where a profile is named: the registry is asked first, then the profiles. */
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

function resolveAgent(parts: EngineParts, agent: string, way: Start["way"]): Resolved | Unresolved {
  const entry = parts.agents.entry(agent);
  if (entry === undefined) {
    const known = agentsFor(parts, way).map(({ agentId }) => agentId);
    return { rule: "agent", reason: `unknown agent '${agent}'`, ...others(agent, known) };
  }
  const profile = parts.profiles.get(entry.profileId);
  if (profile === undefined) {
    const reason = `The agent ${agent} points at the profile "${entry.profileId}", which ${whyMissing(parts, entry.profileId)}`;
    return { rule: "profile_missing", reason };
  }
  const refusal = unfit(profile, way);
  if (refusal !== undefined) return refusal;
  return { profile, agent, entry: claimsOfEntry(entry), receipt: [] };
}

/** Ids in the registry may carry what they are: `skill:writing`, `mcp:docs`. */
function claimsOfEntry(entry: AgentEntry): EntryClaims {
  const server = (id: string): string => id.replace(/^mcp:/, "");
  return {
    ...(entry.defaultForwardSkills && {
      defaultForwardSkills: entry.defaultForwardSkills.map(skillName),
    }),
    ...(entry.allowedForwardSkills && {
      allowedForwardSkills: entry.allowedForwardSkills.map(skillName),
    }),
    ...(entry.defaultMcpServers && { defaultMcpServers: entry.defaultMcpServers.map(server) }),
    ...(entry.allowedMcpServers && { allowedMcpServers: entry.allowedMcpServers.map(server) }),
  };
}

function resolveName(
  parts: EngineParts,
  request: DelegationRequest,
  way: Start["way"],
): Resolved | Unresolved {
  const asked = request.profile ?? "general";
  const { profiles, limits } = parts;
  const found = profiles.get(asked);
  const stand =
    limits.onUnknownProfile === null ? undefined : profiles.get(limits.onUnknownProfile);
  // A name that somebody defines and that cannot be used is no unknown one: nobody stands in for it.
  const problem = found === undefined ? profiles.problemOf(asked) : undefined;
  if (problem !== undefined) return { rule: "profile_unusable", reason: problem.message };
  const profile = found ?? stand;
  if (profile === undefined) {
    const reason = `unknown profile '${asked}'`;
    return { rule: "profile", reason, ...others(asked, profilesFor(parts, way)) };
  }
  const refusal = unfit(profile, way);
  if (refusal !== undefined) return refusal;
  return { profile, receipt: found === undefined ? [standIn(asked, profile)] : [] };
}

/** The registered agents that can be delegated to: their profile exists and takes tasks this way. */
export function agentsFor(
  { agents, profiles }: Pick<EngineParts, "agents" | "profiles">,
  way: Start["way"],
): readonly AgentEntry[] {
  return agents.all().filter(({ profileId }) => {
    const profile = profiles.get(profileId);
    return profile !== undefined && unfit(profile, way) === undefined;
  });
}

function profilesFor({ profiles }: EngineParts, way: Start["way"]): readonly string[] {
  return profiles.names().filter((name) => {
    const profile = profiles.get(name);
    return profile?.hidden !== true && profile && unfit(profile, way) === undefined;
  });
}

function others(asked: string, known: readonly string[]): Pick<Unresolved, "hint" | "known"> {
  const name = nearestKey(asked, known);
  return { known, ...(name !== undefined && { hint: `Did you mean '${name}'?` }) };
}

/** The names that would have been accepted, after the fixed text of the refusal. */
export function knownNames(known: readonly string[] | undefined): string {
  if (known === undefined) return "";
  if (known.length === 0) return " Known: none.";
  const more = known.length > mostNames ? ` and ${known.length - mostNames} more` : "";
  return ` Known: ${known.slice(0, mostNames).join(", ")}${more}.`;
}

const mostNames = 50;

/** A refused run has no log that could hold the refusal: the caller gets an error. */
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

/** An unknown name that the operator lets another agent stand in for is said, never hidden. */
function standIn(asked: string, { name }: Profile): ReceiptLine {
  const reason = `there is no profile '${asked}'`;
  return { field: "profile", requested: asked, granted: name, reason };
}

function whyMissing({ profiles }: EngineParts, id: string): string {
  const problem = profiles.problemOf(id);
  return problem === undefined ? "does not exist." : `cannot be used: ${problem.message}`;
}

/** Whether this profile can be what it is asked to be, and its promises can be kept. */
function unfit(profile: Profile, way: Start["way"]): Unresolved | undefined {
  const { capabilities, name } = profile;
  const isChild = way === "spawn" || way === "delegate";
  const isFit = capabilities.some((each) =>
    way === "watch"
      ? each === "watcher"
      : each === "subtask" || each === "orchestrator" || (!isChild && each === "primary"),
  );
  if (!isFit) {
    const reason = `"${name}" is a profile for ${capabilities.join(" and ")} agents only, and cannot be given a task this way.`;
    return { rule: "capability", reason };
  }
  const promise = unkeptPromise(profile);
  return promise === undefined ? undefined : { rule: "promise", reason: promise };
}

/** What a profile asks for and this version cannot keep is refused, never taken for less. */
function unkeptPromise({ name, workspace }: Profile): string | undefined {
  const { approval, checks, isolation = "sandbox" } = workspace ?? {};
  if (isolation !== "sandbox" && (approval === true || (checks?.length ?? 0) > 0)) {
    return `"${name}" works in place (${isolation}), where nothing is merged: its checks and its approval could not be kept. Leave out its isolation, or say sandbox.`;
  }
  return undefined;
}
