import { firstSentence, headOf } from "../../text.ts";
import type { Capability, ProfileFields } from "../profiles/profile.ts";
import { maximumProfileBytes, writeMarkdownProfile } from "../profiles/profile-document.ts";
import {
  type Findings,
  type ForeignAgent,
  type ImportedAgent,
  type ReadPolicy,
  shorten,
} from "./agent-file.ts";
import { authorityKey, knownKeys, nearestAuthorityKey } from "./agent-keys.ts";
import { joinFields, readOwnAuthority } from "./own-authority.ts";
import { toPlainData, toPlainText } from "./plain-data.ts";
import { readAuthority } from "./read-authority.ts";
import { readModelPolicy } from "./read-model-policy.ts";
import { toProfileName } from "./to-profile-name.ts";
import type { ToolAuthority } from "./tool-authority.ts";

/**
 * The keys of a format for each part of a profile. The first key that is present applies; all
 * prompts are joined.
 */
export interface Meaning {
  readonly name?: readonly string[];
  readonly title?: readonly string[];
  readonly description?: readonly string[];
  readonly prompt?: readonly string[];
  readonly opening?: readonly string[];
  /** Lists that pre-approve calls: they neither restrict nor grant here. */
  readonly preApproved?: readonly string[];
  /** Keys that the format's own reader has used. */
  readonly used?: readonly string[];
  /** Restrictions that the format's own reader has found. */
  readonly parts?: readonly ToolAuthority[];
  readonly fields?: ProfileFields;
  /** The description of an agent that has neither a description nor a prompt. */
  readonly substitute?: string;
}

/**
 * Converts an agent of another program. All formats are read alike: a restriction of another format
 * applies, since its author meant one.
 */
export function importAgent(agent: ForeignAgent, meaning: Meaning = {}): ImportedAgent {
  const { fields, findings } = agent;
  if (Object.keys(fields).length > 1000) {
    findings.refuse("more than 1,000 keys");
    return { name: "agent", fields: {}, loss: [] };
  }
  const used = new Set(meaning.used ?? []);
  const textOf = (keys: readonly string[]): string | undefined => {
    const texts = keys.flatMap((key) => {
      used.add(key);
      return readText(fields[key]) ?? [];
    });
    return texts[0];
  };
  const named = textOf(meaning.name ?? ["name"]);
  const shown = textOf(meaning.title ?? ["title", "displayName", "display_name"]);
  const name = toProfileName(named ?? shown ?? "", agent.fallbackName);
  const title = [shown, named].find((text) => text !== undefined && text !== name);
  const described = limitText(textOf(meaning.description ?? ["description"]), 8000, agent);
  const prompts = (meaning.prompt ?? []).flatMap((key) => textOf([key]) ?? []);
  const written = [agent.body, ...prompts].map((text) => toPlainText(text).trim());
  const said = { description: described, prompt: written.filter(isFilled).join("\n\n") };
  const texts = completeTexts(said, { ...meaning, called: title ?? name }, findings);
  const opening = textOf(meaning.opening ?? ["initialPrompt"]);

  const ours = readOwnAuthority(agent);
  const { toolRules: ownRules = [], ...restrictions } = ours.fields;
  const parts = [{ rules: ownRules }, ...(meaning.parts ?? [])];
  const authority = readAuthority(agent, { ...meaning, parts });
  const policies = [readModelPolicy(agent), readLimits(agent), readVisibility(agent)];
  const readers = [authority, ours, ...policies];
  for (const key of readers.flatMap((reader) => [...reader.keys])) used.add(key);
  const own: ProfileFields = {
    ...(title !== undefined && { title: headOf(toPlainText(title), 256).trim() }),
    ...texts,
    ...(opening !== undefined && { opening }),
    ...Object.assign({}, ...policies.map((policy) => policy.fields)),
    ...authority.fields,
    ...meaning.fields,
  };
  const metadata = { ...authority.metadata, ...keepRest(agent, used) };
  const all = toPlainData({
    ...joinFields(own, restrictions),
    ...(Object.keys(metadata).length > 0 && { metadata }),
  }) as ProfileFields;
  if (agent.format !== "skill" && !fitsIntoFile(name, all))
    findings.refuse("larger than 256 KB when written as a profile");
  return { name, fields: all, loss: findings.loss };
}

function isFilled(text: string): boolean {
  return text !== "";
}

/** Whether the profile fits into a file of ours, so that it can be converted and loaded again. */
function fitsIntoFile(name: string, fields: ProfileFields): boolean {
  const { prompt = "", ...rest } = fields;
  // Only large agents are written to find their size.
  if (prompt.length < 50_000 && JSON.stringify(rest).length < 10_000) return true;
  return Buffer.byteLength(writeMarkdownProfile(name, fields)) <= maximumProfileBytes;
}

/** Unknown keys that may be restrictions. */
const soundsLikeAuthority = /tool|permi|allow|deny|denied|forbid|restrict|sandbox|read.?only/i;

/** Keeps unknown keys as metadata, and refuses those that may be misspelt restrictions. */
function keepRest({ fields, findings, format, lineOf }: ForeignAgent, used: ReadonlySet<string>) {
  const metadata: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(fields)) {
    if (used.has(key)) continue;
    const isKnown =
      knownKeys.has(key) || authorityKey(key, format) !== undefined || format === "skill";
    const nearest = isKnown ? undefined : nearestAuthorityKey(key, format);
    if (nearest !== undefined) {
      const message = `"${shorten(key)}" is not a key; did you mean "${nearest}"?`;
      findings.refuse(message, lineOf(key));
      continue;
    }
    metadata[key] = value;
    const detail = /^hooks?$/i.test(key) ? "hooks are never run" : "it has no effect here";
    findings.lose(shorten(key), "kept", detail);
    if (!isKnown && soundsLikeAuthority.test(key)) {
      findings.warn(
        `"${shorten(key)}" sounds like a restriction, and has no effect here`,
        lineOf(key),
      );
    }
  }
  return metadata;
}

export function readText(value: unknown): string | undefined {
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === "string")) {
    return readText(value.join("\n"));
  }
  if (typeof value !== "string") return undefined;
  const text = toPlainText(value).trim();
  return text === "" ? undefined : text;
}

function limitText(text: string | undefined, maximum: number, { findings }: ForeignAgent) {
  if (text === undefined || text.length <= maximum) return text;
  findings.lose("description", "narrowed", `cut after ${maximum} characters`);
  return headOf(text, maximum).trim();
}

/**
 * Completes a description from the prompt, or a prompt from the description. Without both the agent
 * is refused.
 */
function completeTexts(
  { description, prompt }: { readonly description: string | undefined; readonly prompt: string },
  { called, substitute }: { readonly called: string; readonly substitute?: string },
  findings: Findings,
): Pick<ProfileFields, "description" | "prompt"> {
  if (description === undefined && prompt === "" && substitute === undefined) {
    findings.refuse("there is neither a description nor a prompt; it cannot be used");
    return {};
  }
  if (description === undefined) {
    findings.warn("there is no description; say when to delegate to it");
  }
  if (prompt === "") findings.warn("there is no prompt; its description is used as one");
  const short = description ?? (firstSentence(prompt) || (substitute ?? called));
  return { description: short, prompt: prompt === "" ? short : prompt };
}

const turnKeys = ["maxTurns", "max_turns", "maxSteps", "max_steps", "steps", "turnBudget"];

const millisecondsOfKey: ReadonlyMap<string, number> = new Map([
  ["timeout_mins", 60_000],
  ["timeoutMs", 1],
]);

const longest = 2 ** 31 - 1;

/**
 * Reads limits of turns and time. An invalid limit is refused: without it the agent would have no
 * limit.
 */
function readLimits({ fields, findings, lineOf }: ForeignAgent): ReadPolicy {
  const keys = new Set<string>();
  const read = (key: string, factor: number): number | undefined => {
    const value = fields[key];
    // `steps` can also be a list of tasks.
    const isOther = key === "steps" && typeof value === "object" && value !== null;
    if (value === undefined || isOther) return undefined;
    keys.add(key);
    const number = typeof value === "string" ? Number(value.trim() || "none") : value;
    if (typeof number === "number" && number > 0) {
      return Math.min(longest, Math.max(1, Math.floor(number * factor)));
    }
    findings.refuse(`"${key}" must be a number above 0, or be left out`, lineOf(key));
    return undefined;
  };
  const smallest = (values: readonly (number | undefined)[]) => {
    const present = values.filter((value) => value !== undefined);
    return present.length > 0 ? Math.min(...present) : undefined;
  };
  const turns = smallest(turnKeys.map((key) => read(key, 1)));
  const timeoutMs = smallest([...millisecondsOfKey].map(([key, factor]) => read(key, factor)));
  const limits = {
    ...(turns !== undefined && { turns }),
    ...(timeoutMs !== undefined && { timeoutMs }),
  };
  return { fields: Object.keys(limits).length > 0 ? { limits } : {}, keys };
}

const capabilitiesOfMode: ReadonlyMap<unknown, readonly Capability[]> = new Map([
  ["primary", ["primary"]],
  ["subagent", ["subtask"]],
  ["all", ["primary", "subtask"]],
] as const);

/** Reads who can see and call the agent. Any spelling of «disabled» disables it. */
function readVisibility({ fields, findings, lineOf }: ForeignAgent): ReadPolicy {
  const keys = new Set<string>();
  const says = (wanted: boolean, names: readonly string[]): boolean => {
    const present = names.filter((name) => fields[name] !== undefined);
    for (const name of present) keys.add(name);
    return present.some((name) => isNo(fields[name]) !== wanted);
  };
  const isDisabled = says(true, ["disable", "disabled"]) || says(false, ["enabled"]);
  const isHidden =
    says(true, ["hidden", "disable-model-invocation", "disableModelInvocation"]) ||
    says(false, ["infer"]);
  const isOnlySubtask = says(false, ["user-invocable", "user-invokable"]);
  const { mode } = fields;
  const capabilities = isOnlySubtask ? (["subtask"] as const) : capabilitiesOfMode.get(mode);
  if (capabilitiesOfMode.has(mode)) keys.add("mode");
  else if (mode !== undefined) findings.warn('"mode" is not one that is known', lineOf("mode"));
  const visibility: ProfileFields = {
    ...(capabilities !== undefined && { capabilities }),
    ...(isHidden && { hidden: true }),
    ...(isDisabled && { disabled: true }),
  };
  return { fields: visibility, keys };
}

function isNo(value: unknown): boolean {
  return value === false || (typeof value === "string" && /^(?:false|no|off)$/i.test(value.trim()));
}
