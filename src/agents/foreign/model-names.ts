import type { ModelPolicy } from "../profiles/profile.ts";
import type { Findings } from "./findings.ts";
import { shorten } from "./tools-place.ts";

/** Names for «a model of this kind»: which one it is, a pool of the configuration says. */
const aliases = new Set(["sonnet", "opus", "haiku", "fast"]);
const nothing = /^(?:|inherit|default|auto|none|null|undefined)$/i;

const providers: readonly (readonly [RegExp, string])[] = [
  [/^claude-/, "anthropic"],
  [/^(?:gpt-|chatgpt-|codex-|o[1-9](?:-|$))/, "openai"],
  [/^gemini-/, "google"],
];

/** A model, a pool, or a list of which the later ones are fallbacks. Undefined: inherit. */
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
  // Only the last parenthesis is the vendor; what stands before it belongs to the name.
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

/** «Claude Sonnet 4.5» is what a menu shows. */
function toModelId(name: string): string {
  if (!/[A-Z\s]/.test(name)) return name;
  const id = name
    .replace(/\s*\((?:preview|beta|experimental)\)$/i, "")
    .toLowerCase()
    .replaceAll(/\s+/g, "-");
  return id.startsWith("claude-") ? id.replaceAll(".", "-") : id;
}
