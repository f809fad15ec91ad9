/** Which client speaks to a provider. */
export type ProviderKind = "anthropic" | "openai" | "openai-chat" | "openai-compatible";

export interface BuiltInProvider {
  readonly kind: ProviderKind;
  readonly baseUrl: string;
  /** The variable that moves it elsewhere. */
  readonly baseUrlVariable: string;
  readonly keyVariable?: string;
  /** Without a key nothing can be asked; local servers want none. */
  readonly needsKey: boolean;
  /** Taken when nobody named a model and this provider is the first that can be used. */
  readonly defaultModel?: string;
}

/** In the order in which a default model is looked for. */
export const builtInProviders: Readonly<Record<string, BuiltInProvider>> = {
  anthropic: {
    kind: "anthropic",
    baseUrl: "https://api.anthropic.com/v1",
    baseUrlVariable: "ANTHROPIC_BASE_URL",
    keyVariable: "ANTHROPIC_API_KEY",
    needsKey: true,
    defaultModel: "claude-sonnet-5-5",
  },
  openai: {
    kind: "openai",
    baseUrl: "https://api.openai.com/v1",
    baseUrlVariable: "OPENAI_BASE_URL",
    keyVariable: "OPENAI_API_KEY",
    needsKey: true,
    defaultModel: "gpt-6-astra",
  },
  google: {
    // Google's own OpenAI-compatible surface: one client fewer to install.
    kind: "openai-compatible",
    baseUrl: "https://generativelanguage.googleapis.com/v1beta/openai",
    baseUrlVariable: "GOOGLE_GENERATIVE_AI_BASE_URL",
    keyVariable: "GOOGLE_GENERATIVE_AI_API_KEY",
    needsKey: true,
    defaultModel: "gemini-flash-latest",
  },
  openrouter: {
    kind: "openai-compatible",
    baseUrl: "https://openrouter.ai/api/v1",
    baseUrlVariable: "OPENROUTER_BASE_URL",
    keyVariable: "OPENROUTER_API_KEY",
    needsKey: true,
    defaultModel: "openrouter/auto",
  },
  "openai-chat": {
    kind: "openai-chat",
    baseUrl: "https://api.openai.com/v1",
    baseUrlVariable: "OPENAI_BASE_URL",
    keyVariable: "OPENAI_API_KEY",
    needsKey: true,
  },
  ollama: {
    kind: "openai-compatible",
    baseUrl: "http://127.0.0.1:11434/v1",
    baseUrlVariable: "OLLAMA_HOST",
    needsKey: false,
    defaultModel: "qwen3",
  },
  lmstudio: {
    kind: "openai-compatible",
    baseUrl: "http://127.0.0.1:1234/v1",
    baseUrlVariable: "LMSTUDIO_BASE_URL",
    needsKey: false,
  },
  vllm: {
    kind: "openai-compatible",
    baseUrl: "http://127.0.0.1:8000/v1",
    baseUrlVariable: "VLLM_BASE_URL",
    keyVariable: "VLLM_API_KEY",
    needsKey: false,
  },
};

/** Where a kind of client goes when neither catalogue nor configuration says so. */
export const officialBaseUrls: Readonly<Record<ProviderKind, string | undefined>> = {
  anthropic: "https://api.anthropic.com/v1",
  openai: "https://api.openai.com/v1",
  "openai-chat": "https://api.openai.com/v1",
  "openai-compatible": undefined,
};
