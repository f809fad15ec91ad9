/** Which client speaks to a provider. */
export type ProviderKind = "anthropic" | "google" | "openai" | "openai-chat" | "openai-compatible";

export interface BuiltInProvider {
  readonly kind: ProviderKind;
  readonly baseUrl: string;
  /** The variable that moves it elsewhere. */
  readonly baseUrlVariable: string;
  readonly keyVariable?: string;
  /** Other variables in which the vendor's own programs look for that key. */
  readonly otherKeyVariables?: readonly string[];
  /** Without a key nothing can be asked; local servers want none. */
  readonly needsKey: boolean;
  /** Runs on the user's own machine, and is found by `mandate doctor`. */
  readonly isLocal?: true;
  /** The default when no model is named and this provider is the first that can be used. */
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
    defaultModel: "gpt-6.1-sol",
  },
  google: {
    kind: "google",
    baseUrl: "https://generativelanguage.googleapis.com/v1beta",
    baseUrlVariable: "GOOGLE_GENERATIVE_AI_BASE_URL",
    keyVariable: "GOOGLE_GENERATIVE_AI_API_KEY",
    otherKeyVariables: ["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    needsKey: true,
    defaultModel: "gemini-3.8-flash",
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
  ollama: { ...local("OLLAMA_HOST", 11_434), defaultModel: "qwen3" },
  lmstudio: local("LMSTUDIO_BASE_URL", 1234),
  llamacpp: local("LLAMACPP_BASE_URL", 8080),
  vllm: { ...local("VLLM_BASE_URL", 8000), keyVariable: "VLLM_API_KEY" },
};

function local(baseUrlVariable: string, port: number): BuiltInProvider {
  const baseUrl = `http://127.0.0.1:${port}/v1`;
  return { kind: "openai-compatible", baseUrl, baseUrlVariable, needsKey: false, isLocal: true };
}

/** Where a kind of client goes when neither catalogue nor configuration says so. */
export const officialBaseUrls: Readonly<Record<ProviderKind, string | undefined>> = {
  anthropic: "https://api.anthropic.com/v1",
  google: "https://generativelanguage.googleapis.com/v1beta",
  openai: "https://api.openai.com/v1",
  "openai-chat": "https://api.openai.com/v1",
  "openai-compatible": undefined,
};
