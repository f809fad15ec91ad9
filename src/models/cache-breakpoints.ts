import type {
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
} from "@ai-sdk/provider";

const breakpoint = { anthropic: { cacheControl: { type: "ephemeral" } } };

/**
 * Where Anthropic is to remember a conversation, so that each turn is charged in full only for what
 * the turn before had not sent: after the tools, after the system prompt, where this request ends,
 * and where the last one ended. The last of these is needed because the provider looks back only
 * twenty blocks, and one turn can have more calls than that. Together four: the most it takes.
 */
export function markPrompt(prompt: LanguageModelV4Prompt): LanguageModelV4Prompt {
  const last = prompt.findLastIndex(isMarkable);
  const answer = prompt.findLastIndex(({ role }, index) => role === "assistant" && index < last);
  const before = answer === -1 ? -1 : prompt.slice(0, answer).findLastIndex(isMarkable);
  const system = prompt[0]?.role === "system" ? 0 : -1;
  const marked = [...prompt];
  for (const index of [system, before, last]) {
    const message = prompt[index];
    if (message !== undefined) marked[index] = { ...message, providerOptions: breakpoint };
  }
  return marked;
}

export function markTools(
  tools: readonly LanguageModelV4FunctionTool[],
): LanguageModelV4FunctionTool[] {
  return tools.map((tool, index) =>
    index === tools.length - 1 ? { ...tool, providerOptions: breakpoint } : tool,
  );
}

/** What we send and will send again as it is; an answer's thoughts cannot carry a mark. */
function isMarkable({ role }: LanguageModelV4Message): boolean {
  return role === "user" || role === "tool";
}
