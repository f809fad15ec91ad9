import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import type { Effort, ModelRequest } from "../ports/model.ts";
import type { ProviderKind } from "./provider-catalog.ts";
import { supportedEffort } from "./supported-effort.ts";

export interface CallTarget {
  readonly provider: string;
  readonly kind: ProviderKind;
  readonly modelId: string;
}

type CallSettings = Pick<
  LanguageModelV4CallOptions,
  "maxOutputTokens" | "temperature" | "topP" | "reasoning" | "providerOptions"
>;

/**
 * What a request asks for in the words of its provider. Clients leave out by themselves what the
 * models they know refuse; here is what they would get wrong. Thinking never comes on top of
 * `maxOutputTokens`: that much was reserved, and no more.
 */
export function callSettings(
  target: CallTarget,
  request: Omit<ModelRequest, "caller">,
  isBare = false,
): CallSettings {
  const { temperature, topP, maxOutputTokens } = request;
  if (isBare) return { maxOutputTokens, ...storage(target.kind) };
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

/** The conversation lives in our log; what OpenAI's models need to see again is sent, not stored. */
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
    // These models think in any case, and in silence unless told otherwise: one could not tell that
    // from a dead connection.
    display: "summarized",
    // Their thoughts are bound to the conversation before them, which we shorten when it is too long.
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

/** For the Claude models that are given a number of tokens. The client adds it to the answer's. */
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
