/**
 * Names that stand for models, tried in order: the first that can be reached and is allowed. These
 * are the words that agent files of other programs use; `models.pools` replaces them one by one.
 * After the family that the word means come models of about the same strength and price, so that an
 * agent written for one provider runs with the key of another.
 */
export const shippedPools: Readonly<Record<string, readonly string[]>> = {
  opus: [
    "anthropic/claude-opus-5-5",
    "anthropic/claude-opus-5",
    "openrouter/anthropic/claude-opus-5.5",
    "openai/gpt-6.1-sol",
    "google/gemini-4-argon",
    "google/gemini-3.1-pro-preview",
  ],
  sonnet: [
    "anthropic/claude-sonnet-5-5",
    "anthropic/claude-sonnet-5",
    "openrouter/anthropic/claude-sonnet-5.5",
    "openai/gpt-6.1-sol",
    "google/gemini-3.8-flash",
  ],
  haiku: [
    "anthropic/claude-haiku-5-5",
    "anthropic/claude-haiku-4-5",
    "openrouter/anthropic/claude-haiku-5.5",
    "openai/gpt-6-luna",
    "google/gemini-3.5-flash-lite",
  ],
  smart: [
    "anthropic/claude-opus-5-5",
    "openai/gpt-6.1-sol",
    "google/gemini-4-argon",
    "google/gemini-3.1-pro-preview",
    "openrouter/anthropic/claude-opus-5.5",
  ],
  fast: [
    "anthropic/claude-haiku-5-5",
    "openai/gpt-6-luna",
    "google/gemini-3.5-flash-lite",
    "openrouter/anthropic/claude-haiku-5.5",
  ],
};
