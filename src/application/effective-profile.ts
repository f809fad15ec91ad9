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
  /** What a project's layers ask for and do not get, since they can only narrow this profile. */
  readonly cut: readonly CutRow[];
  /** What would be trusted, each whole: a person sees all of it before they trust it. */
  readonly waiting: readonly WaitingLayer[];
}

/** A field that counts less than a project's layer says; without `kept` it does not count at all. */
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
 * The profile as it is in effect. One that only a project has and that is not trusted yet is shown as it
 * would be then: a person looks at it before they decide.
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

/** A repository's file holds no secret of the user's, and may hide a program in any of its parts. */
function whole({ fields, origin, untrustedHash: hash = "" }: ProfileLayer): WaitingLayer {
  const { prompt = "", ...rest } = fields;
  const rows = Object.entries(withShownIsolation(rest)).map(([field, value]) => {
    return { field, value, origin };
  });
  return { origin, hash, fields: rows, prompt };
}

/** As much as there is of a profile that is not whole. */
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

/** Compound fields are merged field by field, and shown so; a rule is one line. */
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
    // A declaration may contain a secret in plain text.
    const told = key === "servers" ? describeServer(each as McpServer) : each;
    return { field, value: told, origin: originOf(field) };
  });
}

function describeRule({ action, match, tool }: ToolRule): string {
  return match === undefined ? `${action} ${tool}` : `${action} ${tool} for ${match}`;
}
