import type { McpServer } from "../contracts/mcp-server.ts";
import type { ProfileFields } from "../profiles/profile.ts";
import type { ProfileLayer } from "../profiles/profile-layer.ts";
import type { ProfileRegistry } from "../profiles/profile-registry.ts";
import { describeServer } from "../tools/mcp/describe-server.ts";

export interface EffectiveField {
  /** A dotted path: `model.temperature`. */
  readonly field: string;
  readonly value: unknown;
  readonly origin: string;
}

/** A profile for people: every field, and where it came from. */
export interface EffectiveProfile {
  readonly name: string;
  /** Whether it can be used as it is; `problem` says why not. */
  readonly usable: boolean;
  readonly problem?: string;
  readonly fields: readonly EffectiveField[];
  readonly prompt: string;
  readonly layers: readonly { readonly origin: string; readonly waiting?: true }[];
}

/**
 * The profile as it is in effect. One that waits to be acknowledged is shown as its file says it:
 * that is what somebody wants to look at before they do.
 */
export function effectiveProfile(
  profiles: ProfileRegistry,
  name: string,
): EffectiveProfile | undefined {
  const profile = profiles.get(name);
  const waiting = profiles.pending().filter((layer) => layer.name === name);
  const layers = [
    ...profiles.layersOf(name).map(({ origin }) => ({ origin })),
    ...waiting.map(({ origin }) => ({ origin, waiting: true as const })),
  ];
  if (profile !== undefined) {
    const { name: _name, origin: _origin, origins = {}, prompt, ...fields } = profile;
    const rows = rowsOf(fields, (path) => origins[path] ?? "default");
    return { name, usable: true, fields: rows, prompt, layers };
  }
  const problem = profiles.problemOf(name)?.message;
  const [layer] = waiting.slice(-1);
  if (layer === undefined && problem === undefined) return undefined;
  return {
    name,
    usable: false,
    ...(problem !== undefined && { problem }),
    ...saidBy(layer),
    layers,
  };
}

function saidBy(layer: ProfileLayer | undefined): Pick<EffectiveProfile, "fields" | "prompt"> {
  if (layer === undefined) return { fields: [], prompt: "" };
  const { prompt = "", ...fields } = layer.fields;
  return { fields: rowsOf(fields, () => layer.origin), prompt };
}

/** Compound fields are merged field by field, and shown so. */
function rowsOf(fields: ProfileFields, originOf: (path: string) => string): EffectiveField[] {
  return Object.entries(fields).flatMap(([key, value]) => {
    const isCompound = typeof value === "object" && value !== null && !Array.isArray(value);
    if (!isCompound) return { field: key, value, origin: originOf(key) };
    return Object.entries(value).map(([inner, each]) => {
      const field = `${key}.${inner}`;
      // A declaration may hold a secret that somebody wrote into it.
      const shown = key === "servers" ? describeServer(each as McpServer) : each;
      return { field, value: shown, origin: originOf(field) };
    });
  });
}
