import { join } from "node:path";
import type { ServerVariables } from "../../../diagnose.ts";

/** The name of our entry in every client's file. */
const entryName = "mandate";

/** A delegation takes minutes: a client that limits the time of a call gets this limit. */
const callTimeoutSeconds = 600;

/** A busy machine takes longer to start a program than the ten seconds that Codex allows. */
const startTimeoutSeconds = 60;

export const mcpClients: readonly McpClient[] = [
  {
    name: "claude-code",
    title: "Claude Code",
    aliases: ["claude", "cc"],
    format: "json",
    projectFile: ".mcp.json",
    userFile: ({ home }) => join(home, ".claude.json"),
    path: () => ["mcpServers", entryName],
    entry: ({ command, args }) => ({ type: "stdio", command, args }),
    next: "Start claude in this folder and approve the server; /mcp shows it.",
  },
  {
    name: "codex",
    title: "Codex",
    aliases: ["codex-cli", "openai-codex", "openai"],
    format: "toml",
    projectFile: join(".codex", "config.toml"),
    userFile: ({ home, environment }) =>
      join(environment["CODEX_HOME"] || join(home, ".codex"), "config.toml"),
    path: () => ["mcp_servers", entryName],
    // Codex gives a server PATH, HOME and little else. `codex exec` refuses every tool that would ask,
    // and its first turn does not wait for a server that is not required.
    entry: ({ command, args, variables }) => ({
      command,
      args,
      env_vars: [...variables.keys, ...variables.others],
      default_tools_approval_mode: "approve",
      required: true,
      startup_timeout_sec: startTimeoutSeconds,
      tool_timeout_sec: callTimeoutSeconds,
    }),
    next: "Start codex; /mcp shows it. A project's own file counts once the project is trusted. Codex does not ask before these tools: what a sub-agent may do is up to your mandate.yaml.",
  },
  {
    name: "opencode",
    title: "opencode",
    aliases: ["opencode-ai", "oc"],
    readsJsonc: true,
    format: "json",
    projectFile: "opencode.json",
    userFile: ({ home, environment }) =>
      join(environment["XDG_CONFIG_HOME"] || join(home, ".config"), "opencode", "opencode.json"),
    // opencode 2 keeps servers one level deeper than opencode 1.
    path: (present) => (hasServers(present) ? ["mcp", "servers", entryName] : ["mcp", entryName]),
    entry: ({ command, args }) => ({
      type: "local",
      command: [command, ...args],
      timeout: callTimeoutSeconds * 1000,
    }),
    next: "Start opencode in this folder; `opencode mcp list` shows it.",
  },
  {
    name: "gemini",
    title: "Gemini CLI",
    aliases: ["gemini-cli", "google-gemini"],
    format: "json",
    projectFile: join(".gemini", "settings.json"),
    userFile: ({ home }) => join(home, ".gemini", "settings.json"),
    path: () => ["mcpServers", entryName],
    // Gemini CLI removes keys from a server's environment, but not those that its entry names.
    entry: ({ command, args, variables }) => ({
      command,
      args,
      env: Object.fromEntries(variables.keys.map((name) => [name, `$${name}`])),
      timeout: callTimeoutSeconds * 1000,
    }),
    next: "Start gemini in this folder; /mcp shows it. The folder has to be trusted.",
  },
  {
    name: "cursor",
    title: "Cursor",
    aliases: ["cursor-agent", "cursor-cli"],
    format: "json",
    projectFile: join(".cursor", "mcp.json"),
    userFile: ({ home }) => join(home, ".cursor", "mcp.json"),
    path: () => ["mcpServers", entryName],
    entry: ({ command, args }) => ({ type: "stdio", command, args }),
    next: "Open the folder in Cursor and switch the server on under Settings, MCP.",
  },
  {
    name: "vscode",
    title: "VS Code",
    aliases: ["code", "visual-studio-code", "copilot"],
    format: "json",
    projectFile: join(".vscode", "mcp.json"),
    userFile: (place) => join(codeFolder(place), "Code", "User", "mcp.json"),
    path: () => ["servers", entryName],
    entry: ({ command, args }) => ({ type: "stdio", command, args }),
    next: "Open the folder in VS Code and start the server from .vscode/mcp.json; MCP: List Servers shows it.",
  },
];

function hasServers(present: unknown): boolean {
  const mcp = member(present, "mcp");
  const servers = member(mcp, "servers");
  // A server of the first version that happens to be called "servers" has a type.
  return typeof servers === "object" && servers !== null && !("type" in servers);
}

function member(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  return Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;
}

function codeFolder({ home, environment, platform }: UserPlace): string {
  if (platform === "darwin") return join(home, "Library", "Application Support");
  if (platform === "win32") return environment["APPDATA"] || join(home, "AppData", "Roaming");
  return environment["XDG_CONFIG_HOME"] || join(home, ".config");
}

/** A program whose agent can use our tools, and where its configuration is. */
export interface McpClient {
  readonly name: string;
  readonly title: string;
  /** Other names that people use; hyphens and capital letters do not matter. */
  readonly aliases: readonly string[];
  readonly format: "json" | "toml";
  /** Relative to the project; null: only a file of the user. */
  readonly projectFile: string | null;
  /** A file of the same name that ends in `.jsonc` is read as well. */
  readonly readsJsonc?: true;
  userFile(place: UserPlace): string;
  /** The keys that lead to the entry, given the present content of the file. */
  path(present: unknown, place: UserPlace): readonly string[];
  entry(launch: Launch): Readonly<Record<string, unknown>>;
  /** What the person does next, in one sentence. */
  readonly next: string;
}

export interface UserPlace {
  readonly home: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly platform: NodeJS.Platform;
}

/** The program that the client starts, its arguments, and the variables that it reads, by name. */
export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  readonly variables: ServerVariables;
}
