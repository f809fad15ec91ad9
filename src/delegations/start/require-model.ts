import { MandateError } from "../../ports/mandate-error.ts";
import type { ModelPolicy } from "../../profiles/profile.ts";
import type { EngineParts } from "../engine-parts.ts";

type Models = Pick<EngineParts, "agents" | "models" | "profiles">;

/**
 * Throws when an agent that is named (a profile or a handle) has no model that can be reached, so
 * that nothing is written for work that cannot start. The start itself refuses an unknown name.
 * Without names: throws when no profile at all has a model.
 */
export function requireModel(parts: Models, names: readonly string[]): void {
  const policies = names.map((name) => policyBehind(parts, name));
  for (const policy of policies) if (policy !== undefined) parts.models.candidates(policy);
  if (!policies.some((policy) => policy !== undefined)) requireAnyModel(parts);
}

function policyBehind({ agents, profiles }: Models, name: string): ModelPolicy | undefined {
  const id = name.startsWith("@") ? agents.entry(name)?.profileId : name;
  const profile = id === undefined ? undefined : profiles.get(id);
  return profile && (profile.model ?? anyModel);
}

function requireAnyModel({ models, profiles }: Models): void {
  const obstacle = obstacleTo(models, anyModel);
  if (obstacle === undefined) return;
  const policies = profiles.offered().flatMap(({ model }) => model ?? []);
  if (!policies.some((policy) => obstacleTo(models, policy) === undefined)) throw obstacle;
}

function obstacleTo(models: Models["models"], policy: ModelPolicy): MandateError | undefined {
  try {
    models.candidates(policy);
    return undefined;
  } catch (error) {
    if (error instanceof MandateError) return error;
    throw error;
  }
}

const anyModel: ModelPolicy = Object.freeze({});
