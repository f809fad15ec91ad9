import type { ModelPolicy, Profile } from "../agents/profiles/profile.ts";
import { offeredSkills, type SkillRegistry } from "../agents/skills/skill.ts";
import type { NarrowingRules } from "../contracts/narrow.ts";
import { claimedServers } from "../contracts/narrow-tools.ts";
import { agentsBlock } from "../control/records/agent-registry.ts";
import { agentsFor } from "../control/records/resolve-profile.ts";
import type { EngineParts } from "../delegations/engine-parts.ts";
import { MandateError } from "../ports/mandate-error.ts";
import { listProfiles, type ProfileQuery } from "../tools/delegation/list-profiles.ts";
import type { ProfileSummary } from "./commands/command.ts";

/** The profiles, models, skills and servers of a runtime. */
export interface ProfileSummarySources {
  readonly profiles: { get(name: string): Profile | undefined };
  readonly models: { candidates(policy: ModelPolicy): readonly string[] };
  readonly skills: Pick<SkillRegistry, "all">;
  readonly limits: Pick<NarrowingRules, "serverPattern" | "servers">;
}

/** The summary of a profile: its current model, skills and servers. */
export function summarizeProfile(
  sources: ProfileSummarySources,
  profileId: string,
): ProfileSummary | undefined {
  const profile = sources.profiles.get(profileId);
  if (profile === undefined) return undefined;
  const { mcpServers, servers = {}, skills = "*", tools } = profile;
  const claims = { mcp_servers: mcpServers, ownServers: Object.keys(servers), tools };
  return {
    ...modelOf(sources, profile),
    skills: offeredSkills(sources.skills.all(), skills).map(({ name }) => name),
    servers: claimedServers(claims, sources.limits),
  };
}

function modelOf(
  { models }: ProfileSummarySources,
  { model: policy = {} }: Profile,
): Pick<ProfileSummary, "model"> {
  try {
    return { model: policy.model ?? models.candidates(policy)[0] };
  } catch (error) {
    // No model is available now; the run reports that.
    if (!(error instanceof MandateError)) throw error;
    return { model: policy.pool && `pool ${policy.pool}` };
  }
}

type Offering = Pick<EngineParts, "agents" | "profiles">;

/** The profiles that another program's agent can delegate to, the best match of the query first. */
export function findOfferedProfiles({ profiles }: Pick<Offering, "profiles">, input: ProfileQuery) {
  return listProfiles(profiles.offered(), input);
}

const agentListBytes = 2000;

/** The registered agents that another program's agent can delegate to, as a prompt. */
export function describeOfferedAgents(parts: Offering): string {
  const finder = "A call with another handle names the nearest ones.";
  return agentsBlock(agentsFor(parts, "delegate"), { bytes: agentListBytes, task: "", finder });
}
