import type { ProviderKind } from "./provider-catalog.ts";

/** Where a provider counts the tokens of a request, made from the request that would ask its model. */
export interface CountingEndpoint {
  address(url: string): string;
  body(request: Readonly<Record<string, unknown>>, modelId: string): object;
  /** Undefined: the answer has no count. */
  tokensIn(answer: unknown): number | undefined;
}

/** Providers that are not here have none that counts a whole request. */
export const countingEndpoints: Partial<Record<ProviderKind, CountingEndpoint>> = {
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
