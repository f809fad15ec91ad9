import type { Effort } from "../ports/model.ts";
import type { ProviderKind } from "./provider-catalog.ts";

const all: readonly Effort[] = ["none", "minimal", "low", "medium", "high", "xhigh"];
const lowToHigh: readonly Effort[] = ["low", "medium", "high"];
const lowToXhigh: readonly Effort[] = [...lowToHigh, "xhigh"];
const nothing: readonly Effort[] = [];

/**
 * The effort that a model takes for the one that was asked for: the next higher one it knows, or its
 * highest. Undefined when it takes none: a model must not refuse a request because of it.
 */
export function supportedEffort(
  provider: string,
  kind: ProviderKind,
  modelId: string,
  wanted: Effort,
): Effort | undefined {
  const levels = effortsOf(provider, kind, modelId);
  const from = all.indexOf(wanted);
  return levels.find((each) => all.indexOf(each) >= from) ?? levels.at(-1);
}

function effortsOf(provider: string, kind: ProviderKind, modelId: string): readonly Effort[] {
  switch (kind) {
    case "anthropic":
      // Others speak Anthropic's protocol too, and know nothing of its thinking.
      return modelId.includes("claude-") && !/claude-(?:instant|v?2|3)/.test(modelId)
        ? all
        : nothing;
    case "google":
      return geminiEfforts(modelId);
    case "openai":
    case "openai-chat":
      return openAiEfforts(modelId);
    case "openai-compatible":
      // Local servers refuse the words in between.
      return provider === "openrouter" ? all : ["none", ...lowToHigh];
    default:
      return kind satisfies never;
  }
}

/** By OpenAI's pages on each model: every generation moved the ends of the scale. */
function openAiEfforts(modelId: string): readonly Effort[] {
  if (/^o\d/.test(modelId)) return lowToHigh;
  const match = /^gpt-(\d+)(?:\.(\d+))?(?:-(.+))?$/.exec(modelId);
  const [major, minor, variant = ""] = [
    Number(match?.[1] ?? 0),
    Number(match?.[2] ?? 0),
    match?.[3],
  ];
  if (major < 5 || variant.startsWith("chat")) return nothing;
  if (major >= 6) {
    return /^(?:sol|luna)/.test(variant) && minor === 0 ? ["none", ...lowToXhigh] : lowToXhigh;
  }
  if (variant.startsWith("pro")) return minor < 2 ? ["high"] : ["medium", "high", "xhigh"];
  if (variant.startsWith("codex")) {
    return minor >= 2 || variant.startsWith("codex-max") ? lowToXhigh : lowToHigh;
  }
  if (minor === 0) return ["minimal", ...lowToHigh];
  return minor === 1 ? ["none", ...lowToHigh] : ["none", ...lowToXhigh];
}

function geminiEfforts(modelId: string): readonly Effort[] {
  if (!modelId.startsWith("gemini-") || /^gemini-(?:1|2\.0)/.test(modelId)) return nothing;
  if (/^gemini-2\.5/.test(modelId)) return all;
  if (/^gemini-3-pro/.test(modelId)) return ["low", "high"];
  const [, major = "0", minor = "0"] = /^gemini-(\d+)(?:\.(\d+))?-flash/.exec(modelId) ?? [];
  const isOldFlash = Number(major) === 3 && (Number(minor) < 7 || modelId.includes("-lite"));
  return isOldFlash ? ["minimal", ...lowToHigh] : lowToHigh;
}
