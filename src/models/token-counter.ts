import type { Message, ModelUsage, PromptToCount, ToolDescription } from "../ports/model.ts";
import { AiSdkPrompt } from "./ai-sdk-prompt.ts";
import { callSettings } from "./call-settings.ts";
import { loadLanguageModel } from "./load-language-model.ts";
import type { ProviderKind } from "./provider-catalog.ts";
import type { ProviderSettings } from "./resolve-provider.ts";

/** Providers bill slightly more than their counting endpoints report. */
const endpointMargin = 1.02;
/** For the provider's framing of the prompt, in addition to the estimate of each text. */
const estimateMargin = 1.1;

/** After these answers the endpoint is not asked again: it does not exist, or not for this key. */
const lasting: ReadonlySet<number> = new Set([401, 403, 404, 405, 501]);

/**
 * Bounds the tokens of prompts for one model: by the provider's counting endpoint, at the same address
 * and with the same key as every request, else by a tokenizer. When the provider reports more for a
 * prompt than was counted, every later bound is raised by as much; none is ever lowered.
 */
export class TokenCounter {
  readonly #settings: ProviderSettings;
  readonly #modelId: string;
  readonly #fetch: typeof fetch;
  readonly #prompt: AiSdkPrompt;
  /** The provider has no counting endpoint, or refuses our requests there. */
  #isRefused = false;
  /** The largest ratio of reported to counted tokens so far. */
  readonly #raised = { endpoint: 1, estimate: 1 };
  readonly #pending = new WeakMap<readonly Message[], Count>();

  constructor(settings: ProviderSettings, modelId: string, fetchFrom: typeof fetch) {
    this.#settings = settings;
    this.#modelId = modelId;
    this.#fetch = fetchFrom;
    this.#prompt = new AiSdkPrompt(false);
  }

  readonly count = async (prompt: PromptToCount): Promise<number | undefined> => {
    const found = (await this.#ask(prompt)) ?? (await this.#estimate(prompt));
    if (found === undefined) return undefined;
    this.#pending.set(prompt.messages, found);
    const margin = found.by === "endpoint" ? endpointMargin : estimateMargin;
    return found.known + Math.ceil(found.tokens * margin * this.#raised[found.by]);
  };

  /** Compares what the provider reports with what was counted for the same conversation. */
  learn(messages: readonly Message[], usage: ModelUsage | null): void {
    const count = this.#pending.get(messages);
    if (count === undefined) return;
    this.#pending.delete(messages);
    const { by, known, tokens } = count;
    if (usage === null || tokens === 0) return;
    this.#raised[by] = Math.max(this.#raised[by], (usage.prompt - known) / tokens);
  }

  async #estimate(prompt: PromptToCount): Promise<Count | undefined> {
    const { counted } = prompt;
    const tokens = await estimateTokens(
      this.#modelId,
      counted === null ? prompt : { system: "", tools: [], messages: counted.since },
    );
    return tokens === undefined
      ? undefined
      : { by: "estimate", known: counted?.tokens ?? 0, tokens };
  }

  /** Lets the provider's client build its request, and sends a counting request in its place. */
  async #ask(prompt: PromptToCount): Promise<Count | undefined> {
    const { kind, provider } = this.#settings;
    const endpoint = countingEndpoints[kind];
    if (endpoint === undefined || this.#isRefused) return undefined;
    let tokens: number | undefined;
    const instead: typeof fetch = async (input, init) => {
      const response = await this.#fetch(endpoint.address(String(input)), {
        ...init,
        body: JSON.stringify(endpoint.body(JSON.parse(String(init?.body)), this.#modelId)),
      });
      this.#isRefused ||= lasting.has(response.status);
      if (response.ok) tokens = endpoint.tokensIn(await response.json());
      else await response.body?.cancel();
      throw new Error("It was counted, and not sent.");
    };
    try {
      const client = await loadLanguageModel(this.#settings, this.#modelId, instead);
      await client.doGenerate({
        prompt: this.#prompt.messages(prompt),
        ...(prompt.tools.length > 0 && { tools: this.#prompt.tools(prompt.tools) }),
        ...callSettings({ provider, kind, modelId: this.#modelId }, prompt),
        abortSignal: prompt.signal,
      });
    } catch {
      // Thrown by `instead`, or the endpoint failed: then the tokenizer estimates.
    }
    return tokens === undefined ? undefined : { by: "endpoint", known: 0, tokens };
  }
}

interface Count {
  readonly by: "endpoint" | "estimate";
  /** What the provider had reported before, of the same conversation. */
  readonly known: number;
  /** What was counted now, without any margin. */
  readonly tokens: number;
}

/** Where a provider counts the tokens of a request, made from the request that would ask its model. */
interface CountingEndpoint {
  address(url: string): string;
  body(request: Readonly<Record<string, unknown>>, modelId: string): object;
  /** Undefined: the answer has no count. */
  tokensIn(answer: unknown): number | undefined;
}

/** Providers that are missing here have no endpoint that counts a whole request. */
const countingEndpoints: Partial<Record<ProviderKind, CountingEndpoint>> = {
  anthropic: {
    address: (url) => `${url}/count_tokens`,
    // The endpoint refuses what it does not know, such as the length of the answer.
    body: (request) =>
      only(request, ["model", "messages", "system", "tools", "tool_choice", "thinking"]),
    tokensIn: (answer) => countIn(answer, "input_tokens"),
  },
  google: {
    address: (url) => url.replace(/:generateContent$/, ":countTokens"),
    body: (request, modelId) => ({
      generateContentRequest: { model: `models/${modelId}`, ...request },
    }),
    tokensIn: (answer) => countIn(answer, "totalTokens"),
  },
  openai: {
    address: (url) => `${url}/input_tokens`,
    body: (request) =>
      only(request, [
        "model",
        "input",
        "instructions",
        "tools",
        "tool_choice",
        "reasoning",
        "text",
      ]),
    tokensIn: (answer) => countIn(answer, "input_tokens"),
  },
};

function only(request: Readonly<Record<string, unknown>>, keys: readonly string[]): object {
  return Object.fromEntries(
    keys.filter((key) => Object.hasOwn(request, key)).map((key) => [key, request[key]]),
  );
}

/** A prompt of no tokens does not exist. */
function countIn(answer: unknown, key: string): number | undefined {
  const count = (answer as Readonly<Record<string, unknown>> | null)?.[key];
  return Number.isSafeInteger(count) && (count as number) > 0 ? (count as number) : undefined;
}

/** What a prompt is made of. */
interface PromptParts {
  readonly system: string;
  readonly tools: readonly ToolDescription[];
  readonly messages: readonly Message[];
}

/** The models whose tokens are those of the tokenizer itself. */
const ownModels = /(?:^|\/)(?:chatgpt-)?(?:gpt-4o|gpt-4\.[15]|gpt-5|gpt-oss|o[134])(?![a-z0-9])/;

/** Tokens of the provider's framing: for a prompt, for each message, for each tool. */
const frame = { prompt: 64, message: 8, tool: 16 };

/**
 * Estimates the tokens of a prompt with the tokenizer of OpenAI's models. For other models, whose
 * tokenizers are only similar, it errs on the high side (`similarTokens`). Undefined: the optional
 * package gpt-tokenizer is not installed.
 */
export async function estimateTokens(
  modelId: string,
  { messages, system, tools }: PromptParts,
): Promise<number | undefined> {
  const count = await loadTokenizer();
  if (count === undefined) return undefined;
  const isOwn = ownModels.test(modelId);
  const tokensOf = (text: string): number => (isOwn ? count(text) : similarTokens(text, count));
  let sum = frame.prompt + tokensOf(system);
  for (const tool of tools) sum += frame.tool + tokensOf(JSON.stringify(tool));
  for (const message of messages) {
    sum += frame.message;
    for (const text of textsOf(message)) sum += tokensOf(text);
  }
  return sum;
}

function textsOf(message: Message): readonly string[] {
  if (message.role !== "assistant") return [message.text];
  const { calls, providerData, text } = message;
  return [
    text,
    ...(calls.length > 0 ? [JSON.stringify(calls)] : []),
    ...(providerData === undefined ? [] : [JSON.stringify(providerData)]),
  ];
}

type CountText = (text: string) => number;

/**
 * A bound for tokenizers of the same kind with another vocabulary: half as much again for words and
 * signs, a token for each digit, as many models have it, and one for each byte beyond ASCII, which is
 * what a model falls back to for letters that it was not trained on. Never more than the bytes.
 */
function similarTokens(text: string, count: CountText): number {
  const bytes = Buffer.byteLength(text);
  const plain = text.replaceAll(/[0-9\u0080-\uffff]+/g, " ");
  const digits = text.length - text.replaceAll(/[0-9]+/g, "").length;
  const others = bytes - text.replaceAll(/[\u0080-\uffff]+/g, "").length;
  return Math.min(bytes, Math.ceil(count(plain) * 1.5) + shortTexts + digits + others);
}

/** In a short text, one word that is missing in a vocabulary can double the number of tokens. */
const shortTexts = 16;

let tokenizer: Promise<CountText | undefined> | undefined;

/** Loaded on demand: needed only where bytes do not fit a budget and the provider does not count. */
function loadTokenizer(): Promise<CountText | undefined> {
  tokenizer ??= import("gpt-tokenizer/encoding/o200k_base").then(
    ({ countTokens }) =>
      (text) =>
        // Special tokens of the protocol are counted as ordinary text.
        countTokens(text, { disallowedSpecial: new Set() }),
    () => undefined,
  );
  return tokenizer;
}
