import type { Effort } from "../../ports/model.ts";
import type { ModelPolicy, ProfileFields } from "../profile.ts";
import type { ForeignAgent } from "./foreign-agent.ts";
import { readModel } from "./model-names.ts";

export interface ReadPolicy {
  readonly fields: ProfileFields;
  /** The keys that were used up; what could not be read stays for the metadata. */
  readonly keys: ReadonlySet<string>;
}

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
