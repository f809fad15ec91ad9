/**
 * How the agent programs that Mandate knows are started, configured and kept quiet. Everything else is
 * the same for all of them.
 */
import { type AgentRunner, type KnownAgent, runnerName } from "../../contracts/agent-runner.ts";
import type { ProviderKind } from "../../models/provider-catalog.ts";
import { homeInside } from "../../workspaces/sandbox/sandbox.ts";

/** What one start of a program is about. */
export interface AgentStart {
  /** The program's model, as the provider knows it, and the protocol that the provider speaks. */
  readonly model: string;
  readonly kind: ProviderKind;
  /** Where it reaches the gateway from inside its sandbox; null: it uses its own login. */
  readonly gateway: { readonly url: string; readonly token: string } | null;
}

interface StartedAgent {
  readonly args: readonly string[];
  readonly variables: Readonly<Record<string, string>>;
  /** Files in its home, by path. */
  readonly files: Readonly<Record<string, string>>;
}

export interface AgentAdapter {
  /** The name of the program, for people. */
  readonly title: string;
  /** The command that speaks the protocol. */
  readonly command: string;
  /** What to do where the command is missing. */
  readonly install: string;
  /** The protocols of providers that it speaks, its own first. */
  readonly kinds: readonly ProviderKind[];
  /** The provider of its default model. */
  readonly provider: string;
  /** What a login of the program needs: hosts, and where its credentials are below the home folder. */
  readonly login: { readonly hosts: readonly string[]; readonly files: readonly string[] } | null;
  start(about: AgentStart): StartedAgent;
}

const claudeCode: AgentAdapter = {
  title: "Claude Code",
  command: "claude-agent-acp",
  install: "npm install -g @agentclientprotocol/claude-agent-acp",
  kinds: ["anthropic"],
  provider: "anthropic",
  login: {
    hosts: ["api.anthropic.com", "console.anthropic.com", "platform.claude.com"],
    files: [".claude/.credentials.json"],
  },
  start: ({ gateway, model }) => ({
    args: [],
    variables: {
      // In a sandbox of ours, which another one inside would only break.
      IS_SANDBOX: "1",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      DISABLE_TELEMETRY: "1",
      DISABLE_ERROR_REPORTING: "1",
      DISABLE_AUTOUPDATER: "1",
      ...(gateway && {
        ANTHROPIC_BASE_URL: `${gateway.url}/anthropic`,
        ANTHROPIC_API_KEY: gateway.token,
        ANTHROPIC_MODEL: model,
        ANTHROPIC_SMALL_FAST_MODEL: model,
        ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
        ANTHROPIC_DEFAULT_SONNET_MODEL: model,
        ANTHROPIC_DEFAULT_OPUS_MODEL: model,
      }),
    },
    files: {},
  }),
};

const codex: AgentAdapter = {
  title: "Codex",
  command: "codex-acp",
  install: "npm install -g @agentclientprotocol/codex-acp",
  kinds: ["openai"],
  provider: "openai",
  login: {
    hosts: ["chatgpt.com", "auth.openai.com", "api.openai.com"],
    files: [".codex/auth.json"],
  },
  start: ({ gateway, model }) => ({
    args: [],
    variables: {
      CODEX_HOME: `${homeInside}/.codex`,
      // The sandbox is ours: one inside it would only break, and a model that approves costs requests.
      INITIAL_AGENT_MODE: "agent-full-access",
      ...(gateway && { MANDATE_GATEWAY_TOKEN: gateway.token, OPENAI_API_KEY: gateway.token }),
    },
    files: {
      ".codex/config.toml": [
        'approval_policy = "never"',
        'sandbox_mode = "danger-full-access"',
        "check_for_update_on_startup = false",
        ...(gateway
          ? [
              `model = ${JSON.stringify(model)}`,
              'model_provider = "mandate"',
              'web_search = "disabled"',
            ]
          : []),
        "[analytics]",
        "enabled = false",
        "[features]",
        "plugins = false",
        "apps = false",
        ...(gateway
          ? [
              "[model_providers.mandate]",
              'name = "mandate"',
              `base_url = "${gateway.url}/openai/v1"`,
              'env_key = "MANDATE_GATEWAY_TOKEN"',
              'wire_api = "responses"',
            ]
          : []),
        "",
      ].join("\n"),
    },
  }),
};

const gemini: AgentAdapter = {
  title: "Gemini CLI",
  command: "gemini",
  install: "npm install -g @google/gemini-cli",
  kinds: ["google"],
  provider: "google",
  login: {
    hosts: ["cloudcode-pa.googleapis.com", "oauth2.googleapis.com"],
    files: [".gemini/oauth_creds.json", ".gemini/google_accounts.json"],
  },
  start: ({ gateway, model }) => ({
    // The default policy refuses its sub-agents. Without a model the router makes a request first.
    args: ["--acp", "--approval-mode", "yolo", ...(gateway ? ["--model", model] : [])],
    variables: {
      GEMINI_SANDBOX: "false",
      GEMINI_CLI_NO_RELAUNCH: "true",
      ...(gateway && {
        GOOGLE_GEMINI_BASE_URL: `${gateway.url}/google`,
        GEMINI_API_KEY: gateway.token,
      }),
    },
    files: {
      ".gemini/settings.json": JSON.stringify({
        security: {
          auth: { selectedType: gateway ? "gemini-api-key" : "oauth-personal" },
          folderTrust: { enabled: false },
        },
        privacy: { usageStatisticsEnabled: false },
        telemetry: { enabled: false },
        general: { disableAutoUpdate: true, disableUpdateNag: true },
      }),
    },
  }),
};

/** The library that opencode loads for a provider, and where the gateway speaks its protocol. */
const openCodeProviders: Readonly<Record<ProviderKind, readonly [library: string, path: string]>> =
  {
    anthropic: ["@ai-sdk/anthropic", "/anthropic/v1"],
    google: ["@ai-sdk/google", "/google/v1beta"],
    openai: ["@ai-sdk/openai-compatible", "/openai/v1"],
    "openai-chat": ["@ai-sdk/openai-compatible", "/openai/v1"],
    "openai-compatible": ["@ai-sdk/openai-compatible", "/openai/v1"],
  };

const openCode: AgentAdapter = {
  title: "opencode",
  command: "opencode",
  install: "npm install -g opencode-ai",
  kinds: ["anthropic", "openai", "google", "openai-chat", "openai-compatible"],
  provider: "anthropic",
  login: null,
  start({ gateway, kind, model }) {
    const [npm, path] = openCodeProviders[kind];
    const options = { baseURL: `${gateway?.url}${path}`, apiKey: gateway?.token };
    return {
      args: ["acp"],
      variables: {
        OPENCODE_DISABLE_AUTOUPDATE: "1",
        OPENCODE_DISABLE_MODELS_FETCH: "1",
        OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
        OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
        // The program writes beside every configuration that it finds, and those of a workspace are protected.
        OPENCODE_DISABLE_PROJECT_CONFIG: "1",
      },
      files: {
        ".config/opencode/opencode.json": JSON.stringify({
          autoupdate: false,
          share: "disabled",
          enabled_providers: ["mandate"],
          model: `mandate/${model}`,
          small_model: `mandate/${model}`,
          provider: {
            mandate: {
              npm,
              name: "mandate",
              options,
              models: { [model]: { name: model, tool_call: true } },
            },
          },
        }),
      },
    };
  },
};

/** Any other program: it finds the gateway by the variables that libraries of providers read. */
const anyAgent: AgentAdapter = {
  title: "ACP agent",
  command: "",
  install: "install the program, and name it by a path or put its folder on PATH",
  kinds: ["anthropic", "openai", "google", "openai-chat", "openai-compatible"],
  provider: "anthropic",
  login: null,
  start: ({ gateway, model }) => ({
    args: [],
    variables: {
      MANDATE_MODEL: model,
      ...(gateway && {
        ANTHROPIC_BASE_URL: `${gateway.url}/anthropic`,
        ANTHROPIC_API_KEY: gateway.token,
        ANTHROPIC_MODEL: model,
        OPENAI_BASE_URL: `${gateway.url}/openai/v1`,
        OPENAI_API_KEY: gateway.token,
        GOOGLE_GEMINI_BASE_URL: `${gateway.url}/google`,
        GEMINI_API_KEY: gateway.token,
      }),
    },
    files: {},
  }),
};

export const agentAdapters: Readonly<Record<KnownAgent, AgentAdapter>> = {
  "claude-code": claudeCode,
  codex,
  gemini,
  opencode: openCode,
};

export function adapterOf(runner: AgentRunner): AgentAdapter {
  const name = runnerName(runner);
  return name === "acp" ? anyAgent : agentAdapters[name];
}
