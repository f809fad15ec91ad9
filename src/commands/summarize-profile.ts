import { MandateError } from "../ports/mandate-error.ts";
import type { ModelPolicy, Profile } from "../profiles/profile.ts";
import type { ProfileSummary } from "./command.ts";

/** The profiles and models of a runtime. */
export interface ProfileSummarySources {
  readonly profiles: { get(name: string): Profile | undefined };
  readonly models: { candidates(policy: ModelPolicy): readonly string[] };
}

/** What commands say of a profile: the model that it would run on now. */
export function summarizeProfile(
  { profiles, models }: ProfileSummarySources,
  profileId: string,
): ProfileSummary | undefined {
  const profile = profiles.get(profileId);
  if (profile === undefined) return undefined;
  const { model: policy = {} } = profile;
  try {
    return { model: policy.model ?? models.candidates(policy)[0] };
  } catch (error) {
    // None of them can be had now, which is for whoever runs it to hear about.
    if (!(error instanceof MandateError)) throw error;
    return { model: policy.pool && `pool ${policy.pool}` };
  }
}
