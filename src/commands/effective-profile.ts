import type { McpServer } from "../contracts/mcp-server.ts";
import type { ToolRule } from "../contracts/tool-rule.ts";
import { MandateError } from "../ports/mandate-error.ts";
import { mergeLayers } from "../profiles/merge-layers.ts";
import type { Profile } from "../profiles/profile.ts";
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
  /** What is said about the name, in the order in which it is merged. */
  readonly layers: readonly string[];
  /** What would be trusted, each whole: whoever trusts it shall have seen it. */
  readonly waiting: readonly WaitingLayer[];
}

export interface WaitingLayer {
  readonly origin: string;
  readonly hash: string;
  readonly fields: readonly EffectiveField[];
  readonly prompt: string;
}

/**
 * The profile as it is in effect. One that waits to be acknowledged is shown as it would be then:
 * that is what somebody wants to look at before they do.
 */
export function effectiveProfile(
  profiles: ProfileRegistry,
  name: string,
): EffectiveProfile | undefined {
  const own = profiles.layersOf(name);
  const waiting = profiles.pending().filter((layer) => layer.name === name);
  const about = { layers: own.map(({ origin }) => origin), waiting: waiting.map(whole) };
  const profile = profiles.get(name);
  if (profile !== undefined) return { name, usable: true, ...shown(profile), ...about };
  const problem = profiles.problemOf(name)?.message;
  if (waiting.length === 0 && problem === undefined) return undefined;
  return {
    name,
    usable: false,
    ...(problem !== undefined && { problem }),
    ...shown(afterAll([...own, ...waiting])),
    ...about,
  };
}

/** A repository's file holds no secret of the user's, and may hide a program in any of its parts. */
function whole({ fields, origin, unacknowledged: hash = "" }: ProfileLayer): WaitingLayer {
  const { prompt = "", ...rest } = fields;
  const rows = Object.entries(rest).map(([field, value]) => ({ field, value, origin }));
  return { origin, hash, fields: rows, prompt };
}

/** All of it, as if nothing had to be acknowledged; as much as there is, if that is not enough. */
function afterAll(layers: readonly ProfileLayer[]): Partial<Profile> {
  const first = layers.findLastIndex(({ replaces }) => replaces === true);
  const counting = layers.slice(Math.max(0, first));
  try {
    return mergeLayers(counting);
  } catch (error) {
    if (!(error instanceof MandateError)) throw error;
    const { fields = {}, origin = "" } = counting.at(-1) ?? {};
    const keys = Object.keys(fields);
    return { ...fields, origins: Object.fromEntries(keys.map((key) => [key, origin])) };
  }
}

function shown(profile: Partial<Profile>): Pick<EffectiveProfile, "fields" | "prompt"> {
  const { name: _name, origin: _origin, origins = {}, prompt = "", ...fields } = profile;
  const originOf = (path: string): string => origins[path] ?? originAbove(origins, path);
  const lines = prompt === "" ? 0 : prompt.split("\n").length;
  const about = { field: "prompt", value: `${lines} lines`, origin: originOf("prompt") };
  const rows = Object.entries(fields).flatMap(([key, value]) => rowsOf(key, value, originOf));
  return { fields: lines === 0 ? rows : [...rows, about], prompt };
}

function originAbove(origins: Readonly<Record<string, string>>, path: string): string {
  return origins[path.split(".", 1)[0] ?? ""] ?? "default";
}

/** Compound fields are merged field by field, and shown so; a rule is one line. */
function rowsOf(
  key: string,
  value: unknown,
  originOf: (path: string) => string,
): readonly EffectiveField[] {
  if (key === "toolRules") {
    return (value as readonly ToolRule[]).map((rule, index) => {
      return { field: `toolRules.${index + 1}`, value: describeRule(rule), origin: originOf(key) };
    });
  }
  const isCompound = typeof value === "object" && value !== null && !Array.isArray(value);
  if (!isCompound) return [{ field: key, value, origin: originOf(key) }];
  return Object.entries(value).map(([inner, each]) => {
    const field = `${key}.${inner}`;
    // A declaration may hold a secret that somebody wrote into it.
    const told = key === "servers" ? describeServer(each as McpServer) : each;
    return { field, value: told, origin: originOf(field) };
  });
}

function describeRule({ action, match, tool }: ToolRule): string {
  return match === undefined ? `${action} ${tool}` : `${action} ${tool} for ${match}`;
}
