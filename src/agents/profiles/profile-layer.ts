import type { RuleSet } from "../../contracts/tool-rule.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { narrowLayer } from "./narrow-layer.ts";
import type { ModelPolicy, Profile, ProfileFields, ProjectPart, PromptFiles } from "./profile.ts";
import { parseProfileDocument } from "./profile-document.ts";

/** The fields that one source sets for one name. The layers of a name are merged into a profile. */
export interface ProfileLayer {
  readonly name: string;
  readonly fields: ProfileFields;
  /** The source for people: `workspace: /srv/app/.mandate/agents/coder.md`. */
  readonly origin: string;
  /**
   * The layer came with a project, and can only narrow the layers of the person and the product.
   */
  readonly isProjects?: true;
  /**
   * The SHA-256 of everything the layer was read from. The layer has no effect until this hash is
   * trusted. Absent: it needs no trust.
   */
  readonly untrustedHash?: string;
  /** The hashes of its prompt files at the time of reading. */
  readonly promptFiles?: PromptFiles;
  /** The layer is a whole profile: fields of earlier layers of this name are dropped. */
  readonly replaces?: boolean;
  /** A file of another program: it may name tools that are not known here. */
  readonly isForeign?: true;
  /** An agent of another program in a file of ours. It is merged with no other profile. */
  readonly isImported?: true;
}

/** What follows for a layer from the program that it was imported from. */
export function standingOf({
  importedFrom,
}: {
  readonly importedFrom?: string | undefined;
}): Pick<ProfileLayer, "isForeign" | "isImported" | "replaces"> {
  return importedFrom === undefined ? {} : { isForeign: true, isImported: true, replaces: true };
}

/** The imported layer of a project whose name is taken; a project cannot take a profile's place. */
export function findClash(layers: readonly ProfileLayer[]): ProfileLayer | undefined {
  const own = layers.filter(({ isProjects }) => isProjects !== true);
  if (own.length === 0 || !isWhole(joinFields(own).fields)) return undefined;
  return layers.find(({ isImported, isProjects }) => isImported === true && isProjects === true);
}

export function describeClash({ name, origin }: Pick<ProfileLayer, "name" | "origin">): string {
  return `${origin}: an imported agent, and "${name}" is a profile that you already have; a project's file cannot take its place. Give it another name, or move it to your own profiles.`;
}

/** The layer of a profile that a program gives: validated like a file, and whole by itself. */
export function layerOf(profile: Profile): ProfileLayer {
  const { name, origin = "program", ...said } = profile;
  const { addedRules: _rules, origins: _origins, project: _project, ...fields } = said;
  const layer = { name, fields, origin, replaces: true };
  requireProfile(layer);
  return layer;
}

/**
 * Validates a program's profile by the rules for files: a misspelt limit is refused, and so is an
 * unusable profile. In JavaScript no compiler reports either.
 */
function requireProfile({ fields, name, origin }: ProfileLayer): void {
  const file = `The profile ${JSON.stringify(name) ?? "without a name"}`;
  if (typeof name !== "string") {
    throw new MandateError("profile-invalid", `${file} of this program: give it a name.`);
  }
  try {
    parseProfileDocument({ value: { ...fields, name }, lineOf: () => 1 }, file);
  } catch (error) {
    if (!(error instanceof MandateError)) throw error;
    throw new MandateError("profile-invalid", error.message.replaceAll(`${file}:1:`, `${file}:`));
  }
  mergeLayers([{ name, fields, origin }]);
}

/** Fields that are merged key by key; all others are replaced whole. */
const compound: ReadonlySet<string> = new Set([
  ...["model", "mayDelegate", "workspace", "limits", "triggers", "exit", "servers", "metadata"],
]);

/**
 * Merges the layers of a name into one profile, later layers over earlier ones, field by field.
 * Each field records the layer it came from. A project's layers only narrow the layers of the
 * person and the product. `usual`: the amounts that apply where a profile names none. Throws when
 * the result lacks a required field.
 */
export function mergeLayers(layers: readonly ProfileLayer[], usual: ProfileFields = {}): Profile {
  const own = layers.filter(({ isProjects }) => isProjects !== true);
  if (own.length === layers.length) return finish(joinFields(layers), layers);
  const without = joinFields(own);
  if (!isWhole(without.fields)) {
    // The person changes parts of the project's profile, so the person's layers come last.
    const projects = layers.filter(({ isProjects }) => isProjects === true);
    const ordered = [...projects, ...own];
    return finish(joinFields(ordered), ordered, { cut: [], files: filesOf(projects) });
  }
  const most = joinFields([{ name: "", origin: "", fields: usual }, ...own]).fields;
  const cut: ProjectPart["cut"][number][] = [];
  const rules: RuleSet[] = [];
  const narrowed = layers.map((layer): ProfileLayer => {
    if (layer.isProjects !== true) return layer;
    requireFewRules(layer);
    const less = narrowLayer(most, layer.fields);
    cut.push(...less.cut.map((each) => ({ ...each, origin: layer.origin })));
    if (less.rules.length > 0) rules.push(less.rules);
    return { ...layer, fields: less.fields };
  });
  const part = { own: finish(without, own), cut, files: {} };
  const merged = finish(joinFields(narrowed), narrowed, part);
  return rules.length === 0 ? merged : { ...merged, addedRules: rules };
}

interface Joined {
  readonly fields: ProfileFields;
  readonly origins: Readonly<Record<string, string>>;
}

function joinFields(layers: readonly ProfileLayer[]): Joined {
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
  return { fields: fields as ProfileFields, origins };
}

function finish(
  { fields, origins }: Joined,
  layers: readonly ProfileLayer[],
  project?: ProjectPart,
): Profile {
  const { name = "", origin = "" } = layers.at(-1) ?? {};
  const problem = whatIsWrong(fields);
  if (problem !== undefined) {
    throw new MandateError("profile-invalid", `${origin}: the profile "${name}" ${problem}`);
  }
  return {
    capabilities: ["subtask"],
    prompt: "",
    ...fields,
    name,
    description: fields.description ?? "",
    origin,
    origins,
    ...(project && { project }),
  };
}

/** The files of later layers win, as their fields do. */
function filesOf(layers: readonly ProfileLayer[]): ProjectPart["files"] {
  return Object.assign({}, ...layers.map(({ promptFiles }) => promptFiles ?? {}));
}

/** A model and a pool both select the model: the later one applies. */
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

/**
 * The most characters of patterns in the rules of one profile: every call is matched against all of
 * them.
 */
const longestRules = 20_000;

function requireFewRules({ fields, name, origin }: ProfileLayer): void {
  const problem = tooManyRules(fields);
  if (problem === undefined) return;
  throw new MandateError("profile-invalid", `${origin}: the profile "${name}" ${problem}`);
}

function tooManyRules({ toolRules = [] }: ProfileFields): string | undefined {
  const length = toolRules.reduce((sum, { match = "" }) => sum + match.length, 0);
  if (length <= longestRules) return undefined;
  return `has rules of more than ${longestRules} characters; use fewer`;
}

function whatIsWrong(fields: ProfileFields): string | undefined {
  const { description, prompt, systemPromptFile } = fields;
  const rules = tooManyRules(fields);
  if (rules !== undefined) return rules;
  if (description === undefined) return "has no description; say in a line what it is for";
  if (prompt === undefined && systemPromptFile === undefined) {
    return "has no prompt; write it below the front matter";
  }
  return undefined;
}

/** Whether these fields are a whole profile, and not only a part of one. */
function isWhole({ description, prompt, systemPromptFile }: ProfileFields): boolean {
  return description !== undefined && (prompt !== undefined || systemPromptFile !== undefined);
}
