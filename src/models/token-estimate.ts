import type { Message, ToolDescription } from "../ports/model.ts";

/** What a prompt is made of. */
export interface PromptParts {
  readonly system: string;
  readonly tools: readonly ToolDescription[];
  readonly messages: readonly Message[];
}

/** The models whose tokens are those of the tokenizer itself. */
const ownModels = /(?:^|\/)(?:chatgpt-)?(?:gpt-4o|gpt-4\.[15]|gpt-5|gpt-oss|o[134])(?![a-z0-9])/;

/** What providers put around a prompt, each message and each tool. */
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

/** In a short text one word that another vocabulary does not have is more than half of all tokens. */
const shortTexts = 16;

let tokenizer: Promise<CountText | undefined> | undefined;

/** Large, and needed only where bytes do not fit a budget and the provider does not count. */
function loadTokenizer(): Promise<CountText | undefined> {
  tokenizer ??= import("gpt-tokenizer/encoding/o200k_base").then(
    ({ countTokens }) =>
      (text) =>
        // What looks like a sign of the protocol is text like any other here.
        countTokens(text, { disallowedSpecial: new Set() }),
    () => undefined,
  );
  return tokenizer;
}
