import { MandateError } from "../ports/mandate-error.ts";
import type { ModelPolicy, Profile, ProfileFields } from "./profile.ts";
import type { ProfileLayer } from "./profile-layer.ts";

/** Fields whose own fields are merged one by one; all others are replaced whole. */
const compound: ReadonlySet<string> = new Set([
  ...["model", "mayDelegate", "workspace", "limits", "triggers", "exit", "servers", "metadata"],
]);

/**
 * One profile of all that is said about a name, later layers over earlier ones, field by field.
 * Each field remembers the layer it came from. Throws when the whole says too little to be used.
 */
export function mergeLayers(layers: readonly ProfileLayer[]): Profile {
  const fields: Record<string, unknown> = {};
  const origins: Record<string, string> = {};
  for (const layer of layers) {
    for (const [key, value] of Object.entries(layer.fields)) {
      if (value === undefined) continue;
      if (!compound.has(key)) {
        fields[key] = value;
        origins[key] = layer.origin;
        continue;
      }
      if (key === "model") dropRivals(value as ModelPolicy, fields, origins);
      fields[key] = { ...(fields[key] as object), ...(value as object) };
      for (const inner of Object.keys(value as object)) {
        origins[`${key}.${inner}`] = layer.origin;
      }
    }
  }
  const last = layers.at(-1);
  const said = fields as ProfileFields;
  const problem = whatIsWrong(said);
  if (problem !== undefined) {
    const { name = "", origin = "" } = last ?? {};
    throw new MandateError("profile-invalid", `${origin}: the profile "${name}" ${problem}`);
  }
  return {
    capabilities: ["subtask"],
    prompt: "",
    ...said,
    name: last?.name ?? "",
    description: said.description ?? "",
    origin: last?.origin ?? "",
    origins,
  };
}

/** A model and a pool say the same thing in two ways: the later one is meant. */
function dropRivals(
  said: ModelPolicy,
  fields: Record<string, unknown>,
  origins: Record<string, string>,
): void {
  if (said.model === undefined && said.pool === undefined) return;
  const { model: _model, pool: _pool, ...rest } = (fields["model"] ?? {}) as ModelPolicy;
  fields["model"] = rest;
  delete origins["model.model"];
  delete origins["model.pool"];
}

/** Characters of patterns in one profile's rules: each call is held against all of them. */
const longestRules = 20_000;

function whatIsWrong({ description, prompt, systemPromptFile, toolRules }: ProfileFields) {
  const length = (toolRules ?? []).reduce((sum, { match = "" }) => sum + match.length, 0);
  if (length > longestRules) return `has rules of more than ${longestRules} characters; use fewer`;
  if (description === undefined) return "has no description; say in a line what it is for";
  if (prompt === undefined && systemPromptFile === undefined) {
    return "has no prompt; write it below the front matter";
  }
  return undefined;
}
