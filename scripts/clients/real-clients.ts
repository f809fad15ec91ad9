// The real programs: which package, how it is told to use the loopback model, and how it is started.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { clientKey } from "./model-server.ts";

/** Where one scenario of one client happens: nothing outside it is read or written. */
export interface Cell {
  readonly home: string;
  readonly project: string;
  /** The address of the scripted model. */
  readonly url: string;
  /** The folder with the packages of this client. */
  readonly modules: string;
}

interface Start {
  readonly command: string;
  readonly args: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

export interface RealClient {
  readonly name: string;
  /** The client of `mandate init --client`, whose entry is used as it is written. */
  readonly entry?: string;
  /** The first one is the client itself. */
  readonly packages: readonly string[];
  prepare?(cell: Cell): void;
  /** A change of the entry that a person could make. */
  afterInit?(cell: Cell): void;
  start(cell: Cell, prompt: string): Start;
}

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

const program = ({ modules }: Cell, name: string): string => join(modules, ".bin", name);

function claudeCode(variant: string, environment: Readonly<Record<string, string>>): RealClient {
  return {
    name: `claude:${variant}`,
    entry: "claude-code",
    packages: ["@anthropic-ai/claude-code@2.1.328"],
    start: (cell, prompt) => ({
      command: program(cell, "claude"),
      args: ["-p", prompt, "--allowedTools", "mcp__mandate"],
      environment: {
        ANTHROPIC_API_KEY: clientKey,
        ANTHROPIC_BASE_URL: cell.url,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
        ...environment,
      },
    }),
  };
}

/** Which of its models decides how Codex offers tools: directly, by a search, or to a program. */
function codex(variant: string, model: string, isRequired = true): RealClient {
  const file = ({ project }: Cell): string => join(project, ".codex", "config.toml");
  return {
    name: `codex:${variant}`,
    entry: "codex",
    packages: ["@openai/codex@0.169.0"],
    prepare: ({ home, project, url }) => {
      const provider = `name = "loopback"\nbase_url = "${url}/v1"\nenv_key = "CLIENT_KEY"\nwire_api = "responses"`;
      write(
        join(home, ".codex", "config.toml"),
        `model = "${model}"\nmodel_provider = "loopback"\n\n[model_providers.loopback]\n${provider}\n\n` +
          `[projects."${project}"]\ntrust_level = "trusted"\n`,
      );
    },
    afterInit: (cell) => {
      if (isRequired) return;
      const text = readFileSync(file(cell), "utf8");
      writeFileSync(file(cell), text.replace("required = true", "required = false"));
    },
    start: (cell, prompt) => ({
      command: program(cell, "codex"),
      args: ["exec", prompt],
      environment: { CLIENT_KEY: clientKey },
    }),
  };
}

/** What the guide says about calls without a terminal. */
const geminiPolicy = `[[rule]]\nmcpName = "mandate"\ntoolName = "*"\ndecision = "allow"\npriority = 100\n`;

function library(name: string, packages: readonly string[], argument = name): RealClient {
  return {
    name,
    packages,
    start: (cell, prompt) => ({
      command: process.execPath,
      args: [join(cell.modules, "..", "agent.mjs"), argument, prompt],
      environment: { CLIENT_KEY: clientKey, MODEL_URL: `${cell.url}/v1` },
    }),
  };
}

const inspector = "@modelcontextprotocol/inspector@2.12.0";

export const realClients: readonly RealClient[] = [
  claudeCode("search", {}),
  claudeCode("plain", { ENABLE_TOOL_SEARCH: "false" }),
  codex("direct", "a-model-of-the-house"),
  codex("search", "gpt-5.5"),
  codex("program", "gpt-6.1-sol"),
  codex("unrequired", "gpt-5.5", false),
  {
    name: "opencode",
    entry: "opencode",
    packages: ["opencode-ai@1.18.33"],
    start: (cell, prompt) => ({
      command: program(cell, "opencode"),
      args: ["run", "--model", "anthropic/claude-sonnet-4-5", prompt],
      environment: { ANTHROPIC_API_KEY: clientKey, ANTHROPIC_BASE_URL: `${cell.url}/v1` },
    }),
  },
  {
    name: "gemini",
    entry: "gemini",
    packages: ["@google/gemini-cli@0.61.0"],
    prepare: ({ home }) => {
      write(
        join(home, ".gemini", "settings.json"),
        `{ "security": { "auth": { "selectedType": "gemini-api-key" } }, "privacy": { "usageStatisticsEnabled": false } }`,
      );
      write(join(home, ".gemini", "policies", "mandate.toml"), geminiPolicy);
    },
    start: (cell, prompt) => ({
      command: program(cell, "gemini"),
      args: ["-p", prompt],
      environment: {
        GEMINI_API_KEY: clientKey,
        GOOGLE_GEMINI_BASE_URL: cell.url,
        GEMINI_CLI_TRUST_WORKSPACE: "true",
      },
    }),
  },
  library("inspector:legacy", [inspector]),
  library("inspector:modern", [inspector]),
  library("ai-sdk", ["@ai-sdk/mcp@2.0.99", "ai@7.0.173", "@ai-sdk/openai@4.0.91"]),
  library("mastra", [
    ...["@mastra/mcp@2.0.0", "@mastra/core@1.71.0", "@ai-sdk/openai@4.0.91", "zod@4.6.5"],
  ]),
  library("openai-agents", ["@openai/agents@0.20.0", "zod@4.6.5"]),
  library("langchain", [
    ...["@langchain/mcp-adapters@1.1.4", "@langchain/core@1.2.13", "@langchain/openai@1.6.0"],
    "@langchain/langgraph@1.4.13",
  ]),
];
