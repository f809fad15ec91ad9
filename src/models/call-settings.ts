import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import type { Effort, ModelRequest } from "../ports/model.ts";
import type { ProviderKind } from "./provider-catalog.ts";

interface CallTarget {
  readonly provider: string;
  readonly kind: ProviderKind;
  readonly modelId: string;
  /** Only settings that every model accepts. */
  readonly isBare?: boolean;
}

type CallSettings = Pick<
  LanguageModelV4CallOptions,
  "maxOutputTokens" | "temperature" | "topP" | "reasoning" | "providerOptions"
>;

/**
 * A request's settings as call options of its provider, where the clients' own defaults are wrong.
 * Reasoning tokens are part of `maxOutputTokens`: only that many were reserved.
 */
export function callSettings(
  target: CallTarget,
  request: Omit<ModelRequest, "caller">,
): CallSettings {
  const { temperature, topP, maxOutputTokens } = request;
  if (target.isBare) return { maxOutputTokens, ...storage(target.kind) };
  const effort =
    request.effort == null
      ? undefined
      : supportedEffort(target.provider, target.kind, target.modelId, request.effort);
  return {
    maxOutputTokens,
    ...(temperature === null ? {} : { temperature }),
    ...(topP == null ? {} : { topP }),
    ...storage(target.kind),
    ...thinkingSettings(target, effort, maxOutputTokens),
  };
}

/** OpenAI must not store conversations: they are in our log, and are sent in full each time. */
function storage(kind: ProviderKind): CallSettings {
  return kind === "openai" ? { providerOptions: { openai: { store: false } } } : {};
}

function thinkingSettings(
  { kind, modelId }: CallTarget,
  effort: Effort | undefined,
  maxOutput: number,
): CallSettings {
  switch (kind) {
    case "anthropic":
      return anthropicThinking(modelId, effort, maxOutput);
    case "google":
      if (effort === undefined) return {};
      return /^gemini-2\.5/.test(modelId)
        ? {
            providerOptions: {
              google: { thinkingConfig: geminiBudget(modelId, effort, maxOutput) },
            },
          }
        : { reasoning: effort };
    default:
      return reasoning(effort);
  }
}

function reasoning(effort: Effort | undefined): CallSettings {
  return effort === undefined ? {} : { reasoning: effort };
}

function anthropicThinking(
  modelId: string,
  effort: Effort | undefined,
  maxOutput: number,
): CallSettings {
  if (/claude-(?:opus|sonnet|haiku)-4(?:-[0-5](?!\d)|-\d{8}|@|$)/.test(modelId)) {
    return thinkingBudget(effort, maxOutput);
  }
  const settings = reasoning(effort);
  if (effort === "none" || !/claude-(?:fable|mythos|opus|sonnet|haiku)-5/.test(modelId)) {
    return settings;
  }
  const thinking = {
    type: "adaptive",
    // Models of this kind always think, by default without output, which looks like a dead connection.
    display: "summarized",
    // Reasoning blocks are bound to the messages before them, which we may have shortened.
    ...(/claude-(?:fable-5-1|(?:opus|sonnet)-5-5)/.test(modelId) && {
      blockBinding: { prefixMismatchBehavior: "drop_block" },
    }),
  };
  return { ...settings, providerOptions: { anthropic: { thinking } } };
}

/** The share of an answer's tokens that may be thoughts. */
const shares: Readonly<Record<Effort, number>> = {
  none: 0,
  minimal: 0.1,
  low: 0.2,
  medium: 0.4,
  high: 0.6,
  xhigh: 0.8,
};

/** For Claude models with a token budget for thinking, which the client adds to the answer's limit. */
function thinkingBudget(effort: Effort | undefined, maxOutput: number): CallSettings {
  const smallest = 1024;
  if (effort === undefined || effort === "none" || maxOutput < 2 * smallest) return {};
  const budgetTokens = Math.max(smallest, Math.floor(maxOutput * shares[effort]));
  return {
    maxOutputTokens: maxOutput - budgetTokens,
    providerOptions: { anthropic: { thinking: { type: "enabled", budgetTokens } } },
  };
}

function geminiBudget(modelId: string, effort: Effort, maxOutput: number) {
  const isPro = modelId.includes("-pro");
  // Only the largest cannot stop thinking.
  if (effort === "none") return { thinkingBudget: isPro ? 128 : 0 };
  const budget = Math.floor(maxOutput * shares[effort]);
  return { thinkingBudget: Math.min(Math.max(budget, 512), isPro ? 32_768 : 24_576) };
}

const all: readonly Effort[] = ["none", "minimal", "low", "medium", "high", "xhigh"];
const lowToHigh: readonly Effort[] = ["low", "medium", "high"];
const lowToXhigh: readonly Effort[] = [...lowToHigh, "xhigh"];
const nothing: readonly Effort[] = [];

/**
 * The effort that a model takes for the one that was asked for: the next higher one it knows, or its
 * highest. Undefined when it takes none: a model must not refuse a request because of it.
 */
function supportedEffort(
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
      // Other models use Anthropic's protocol too and do not support extended thinking.
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
