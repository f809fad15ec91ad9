import type { CutField, Profile } from "../agents/profiles/profile.ts";
import type { ProfileLayer } from "../agents/profiles/profile-layer.ts";
import type { ProfileRegistry } from "../agents/profiles/profile-registry.ts";
import type { McpServer } from "../contracts/mcp-server.ts";
import type { ToolRule } from "../contracts/tool-rule.ts";
import { isRecord } from "../ports/parse-json.ts";
import { describeServer } from "../tools/mcp/describe-server.ts";

export interface EffectiveField {
  /** A dotted path: `model.temperature`. */
  readonly field: string;
  readonly value: unknown;
  readonly origin: string;
}

/** A profile for people: every field, and its source. */
export interface EffectiveProfile {
  readonly name: string;
  /** Whether the profile can be used; `problem` says why not. */
  readonly usable: boolean;
  readonly problem?: string;
  readonly fields: readonly EffectiveField[];
  readonly prompt: string;
  /** The sources of its layers, in the order in which they are merged. */
  readonly layers: readonly string[];
  /** The values of a project's layers that were reduced or ignored. */
  readonly cut: readonly CutRow[];
  /** The untrusted layers, each whole: a person sees all of it before they trust it. */
  readonly waiting: readonly WaitingLayer[];
}

/** A value that was reduced; without `kept` it was ignored. */
export interface CutRow extends CutField {
  readonly origin: string;
}

export interface WaitingLayer {
  readonly origin: string;
  readonly hash: string;
  readonly fields: readonly EffectiveField[];
  readonly prompt: string;
}

/**
 * The profile in effect. An untrusted profile that only a project has is shown as it would be, so
 * that a person can decide.
 */
export function effectiveProfile(
  profiles: ProfileRegistry,
  name: string,
): EffectiveProfile | undefined {
  const own = profiles.layersOf(name);
  const waiting = profiles.pending().filter((layer) => layer.name === name);
  const about = { layers: own.map(({ origin }) => origin), waiting: waiting.map(whole) };
  const profile = profiles.get(name);
  if (profile !== undefined) {
    const cut = profile.project?.cut ?? [];
    return { name, usable: true, ...shown(profile), cut, ...about };
  }
  const problem = profiles.problemOf(name)?.message;
  if (waiting.length === 0 && problem === undefined) return undefined;
  return {
    name,
    usable: false,
    ...(problem !== undefined && { problem }),
    ...shown(profiles.afterTrust(name) ?? lastOf([...own, ...waiting])),
    cut: profiles.afterTrust(name)?.project?.cut ?? [],
    ...about,
  };
}

/**
 * A whole untrusted layer. It holds no secret of the user's, and can hide a command in any field.
 */
function whole({ fields, origin, untrustedHash: hash = "" }: ProfileLayer): WaitingLayer {
  const { prompt = "", ...rest } = fields;
  const rows = Object.entries(withShownIsolation(rest)).map(([field, value]) => {
    return { field, value, origin };
  });
  return { origin, hash, fields: rows, prompt };
}

/** The known fields of an incomplete profile. */
function lastOf(layers: readonly ProfileLayer[]): Partial<Profile> {
  const { fields = {}, origin = "" } = layers.at(-1) ?? {};
  const keys = Object.keys(fields);
  return { ...fields, origins: Object.fromEntries(keys.map((key) => [key, origin])) };
}

function shown(profile: Partial<Profile>): Pick<EffectiveProfile, "fields" | "prompt"> {
  const { name: _name, origin: _origin, origins = {}, prompt = "", ...rest } = profile;
  const { project: _project, ...fields } = rest;
  const originOf = (path: string): string => origins[path] ?? originAbove(origins, path);
  const lines = prompt === "" ? 0 : prompt.split("\n").length;
  const about = { field: "prompt", value: `${lines} lines`, origin: originOf("prompt") };
  const rows = Object.entries(withShownIsolation(fields)).flatMap(([key, value]) =>
    rowsOf(key, value, originOf),
  );
  return { fields: lines === 0 ? rows : [...rows, about], prompt };
}

/** Contracts store a working copy as `sandbox`; people read and write `copy`. */
function withShownIsolation<Fields extends Pick<Partial<Profile>, "workspace">>(fields: Fields) {
  const { workspace } = fields;
  if (workspace?.isolation !== "sandbox") return fields;
  return { ...fields, workspace: { ...workspace, isolation: "copy" } };
}

function originAbove(origins: Readonly<Record<string, string>>, path: string): string {
  return origins[path.split(".", 1)[0] ?? ""] ?? "default";
}

/** Rows for a field. Compound fields are merged key by key, and shown by key; a rule is one row. */
function rowsOf(
  key: string,
  value: unknown,
  originOf: (path: string) => string,
): readonly EffectiveField[] {
  if (key === "toolRules" || key === "addedRules") {
    const rules = (value as readonly (ToolRule | readonly ToolRule[])[]).flat();
    return rules.map((rule, index) => {
      return { field: `${key}.${index + 1}`, value: describeRule(rule), origin: originOf(key) };
    });
  }
  if (!isRecord(value)) return [{ field: key, value, origin: originOf(key) }];
  return Object.entries(value).map(([inner, each]) => {
    const field = `${key}.${inner}`;
    // A declaration may contain a secret.
    const told = key === "servers" ? describeServer(each as McpServer) : each;
    return { field, value: told, origin: originOf(field) };
  });
}

function describeRule({ action, match, tool }: ToolRule): string {
  return match === undefined ? `${action} ${tool}` : `${action} ${tool} for ${match}`;
}
