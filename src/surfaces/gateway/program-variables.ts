/** How programs find the gateway: variables that they and the libraries of the providers read. */

export interface GatewayAccess {
  readonly url: string;
  readonly token: string;
}

/** What a program needs instead of an address and a key of a provider. */
function programVariables({ token, url }: GatewayAccess): Readonly<Record<string, string>> {
  return {
    ANTHROPIC_BASE_URL: `${url}/anthropic`,
    ANTHROPIC_API_KEY: token,
    OPENAI_BASE_URL: `${url}/openai/v1`,
    OPENAI_API_KEY: token,
    GOOGLE_GEMINI_BASE_URL: `${url}/google`,
    GEMINI_API_KEY: token,
  };
}

/** Other keys and addresses that would lead past the gateway. */
const removedVariables: readonly string[] = [
  ...["ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK"],
  ...["CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY", "GOOGLE_API_KEY"],
  ...["GOOGLE_GENERATIVE_AI_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "OPENROUTER_API_KEY"],
  ...["OPENAI_ORG_ID", "OPENAI_PROJECT_ID"],
];

/** `keys`: further variables of this machine that hold keys of providers. */
export function programEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
  access: GatewayAccess,
  keys: readonly string[],
): Record<string, string> {
  const removed = new Set([...removedVariables, ...keys]);
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    if (value !== undefined && !removed.has(name)) kept[name] = value;
  }
  return { ...kept, ...programVariables(access) };
}

/** Lines that a person copies into a shell. No value contains a sign that a shell reads. */
export function shellLines(access: GatewayAccess, shell: "sh" | "fish"): readonly string[] {
  const [set, unset] =
    shell === "fish"
      ? [(name: string, value: string) => `set -gx ${name} ${value}`, "set -e"]
      : [(name: string, value: string) => `export ${name}=${value}`, "unset"];
  const own = Object.entries(programVariables(access)).map(([name, value]) => set(name, value));
  return [...own, `${unset} ${removedVariables.join(" ")}`];
}

/** What programs need that do not read those variables. */
export function programHints({ url }: GatewayAccess): readonly string[] {
  const provider = `{ name = "mandate", base_url = "${url}/openai/v1", env_key = "OPENAI_API_KEY", wire_api = "responses" }`;
  return [
    "Claude Code, Gemini CLI and the libraries of Anthropic, OpenAI and Google read these variables.",
    `Codex: codex -c model_provider=mandate -c 'model_providers.mandate=${provider}' -c web_search=disabled`,
    `opencode: "provider": { "anthropic": { "options": { "baseURL": "${url}/anthropic/v1" } } } in opencode.json`,
  ];
}
