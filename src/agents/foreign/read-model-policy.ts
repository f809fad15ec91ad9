import type { Effort } from "../../ports/model.ts";
import type { ModelPolicy } from "../profiles/profile.ts";
import { type Findings, type ForeignAgent, type ReadPolicy, shorten } from "./agent-file.ts";

const efforts: ReadonlyMap<string, Effort> = new Map([
  ...(["none", "minimal", "low", "medium", "high", "xhigh"] as const).map(
    (effort) => [effort, effort] as const,
  ),
  ["off", "none"],
  ["max", "xhigh"],
]);

const effortKeys = [
  ...["effort", "model_reasoning_effort", "reasoningEffort", "reasoning_effort", "variant"],
  "thinking",
];

export function readModelPolicy({ fields, findings }: ForeignAgent): ReadPolicy {
  const keys = new Set<string>();
  const use = <T>(key: string, value: T | undefined): T | undefined => {
    if (value !== undefined) keys.add(key);
    return value;
  };
  const chosen = use("model", readModel(fields["model"], findings));
  if (/^(?:|inherit)$/i.test(String(fields["model"] ?? ""))) keys.add("model");
  const later = readModel(fields["fallbackModels"], findings);
  const fallbacks = [
    ...(chosen?.fallbacks ?? []),
    ...[later?.model, ...(later?.fallbacks ?? [])].filter((model) => model !== undefined),
  ];
  if (later !== undefined) keys.add("fallbackModels");
  const temperature = use("temperature", inRange(fields["temperature"], 2));
  const topKey = fields["top_p"] === undefined ? "topP" : "top_p";
  const topP = use(topKey, inRange(fields[topKey], 1));
  const effortKey = effortKeys.find((key) => efforts.has(String(fields[key]).toLowerCase()));
  const effort = effortKey && use(effortKey, efforts.get(String(fields[effortKey]).toLowerCase()));
  const model: ModelPolicy = {
    ...chosen,
    ...(fallbacks.length > 0 && chosen !== undefined && { fallbacks }),
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { topP }),
    ...(effort && { effort }),
  };
  return { fields: Object.keys(model).length > 0 ? { model } : {}, keys };
}

function inRange(value: unknown, maximum: number): number | undefined {
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  if (typeof number !== "number" || !(number >= 0 && number <= maximum)) return undefined;
  return number;
}

/** Names of pools in the configuration. */
const aliases = new Set(["sonnet", "opus", "haiku", "fast"]);
const nothing = /^(?:|inherit|default|auto|none|null|undefined)$/i;

const providers: readonly (readonly [RegExp, string])[] = [
  [/^claude-/, "anthropic"],
  [/^(?:gpt-|chatgpt-|codex-|o[1-9](?:-|$))/, "openai"],
  [/^gemini-/, "google"],
];

/** Reads a model, a pool, or a list with fallbacks. Undefined: inherit. */
export function readModel(value: unknown, findings: Findings): ModelPolicy | undefined {
  const named = namesOf(value);
  if (named === undefined) {
    findings.lose("model", "unknown", "it is not a name of a model; the default is used");
    return undefined;
  }
  const choices = named.flatMap((name) => readChoice(name, findings) ?? []);
  const [first, ...others] = choices;
  if (first === undefined) return undefined;
  const fallbacks = others.flatMap(({ model }) => model ?? []);
  return fallbacks.length === 0 ? first : { ...first, fallbacks };
}

function namesOf(value: unknown): readonly string[] | undefined {
  if (value === null || value === undefined) return [];
  if (typeof value === "string") return value.split(/\s*(?:,|\||\bor\b)\s*/);
  if (Array.isArray(value)) return value.filter((item) => typeof item === "string");
  if (typeof value !== "object") return undefined;
  const { provider, model, name, id } = value as Readonly<Record<string, unknown>>;
  const model_ = [model, name, id].find((each) => typeof each === "string");
  if (model_ === undefined) return undefined;
  return [typeof provider === "string" ? `${provider}/${model_}` : String(model_)];
}

function readChoice(written: string, findings: Findings): ModelPolicy | undefined {
  // Only the last parenthesis is the vendor; the name may contain others.
  const name = written.trim().replace(/\s*\([^()]*\)$/, "");
  if (nothing.test(name)) return undefined;
  const alias = name.toLowerCase().replace(/\[1m\]$/, "");
  if (aliases.has(alias)) return { pool: alias };
  if (/^[^\s/]+\/\S+$/.test(name)) return { model: name };
  const id = toModelId(name);
  const provider = providers.find(([prefix]) => prefix.test(id))?.[1];
  if (provider === undefined || !/^[\w.:@-]+$/.test(id)) {
    findings.lose("model", "unknown", `${shorten(written)}: the default is used`);
    return undefined;
  }
  const model = `${provider}/${id}`;
  if (id !== name) findings.lose("model", "unknown", `${shorten(written)} is read as ${model}`);
  return { model };
}

/** The id of a model for its display name: «Claude Sonnet 4.5». */
function toModelId(name: string): string {
  if (!/[A-Z\s]/.test(name)) return name;
  const id = name
    .replace(/\s*\((?:preview|beta|experimental)\)$/i, "")
    .toLowerCase()
    .replaceAll(/\s+/g, "-");
  return id.startsWith("claude-") ? id.replaceAll(".", "-") : id;
}
