import type { McpServer } from "../../contracts/mcp-server.ts";
import type { ProfileFields } from "../profiles/profile.ts";

/** The dialects of agent files in the wild. `mandate` is our own. */
export type AgentFormat =
  | "mandate"
  | "claude"
  | "opencode"
  | "opencode-json"
  | "gemini"
  | "codex"
  | "copilot"
  | "chatmode"
  | "cursor"
  | "kiro"
  | "roo"
  | "goose"
  | "pi"
  | "yaml-agent"
  | "skill"
  | "mcp"
  | "unknown";

export interface Diagnostic {
  readonly severity: "note" | "warning" | "error";
  /** From 1, where it is known. */
  readonly line?: number;
  /** Which agent it is about, where the file holds several. */
  readonly agent?: string;
  readonly message: string;
}

/** What a file said and the profile does not do: per field, and what became of it. */
export interface Loss {
  readonly field: string;
  /** Which agent it is about, where the file holds several. */
  readonly agent?: string;
  /**
   * `kept`: as metadata, without effect; `narrowed`: stricter here than where it came from;
   * `unknown`: a name of a tool, model or server that is not known here and was kept as it is.
   */
  readonly kind: "kept" | "narrowed" | "unknown";
  readonly detail: string;
}

/** One agent of a file; a file of modes or a configuration holds several. */
export interface ImportedAgent {
  /** A slug that can be a profile's name. */
  readonly name: string;
  readonly fields: ProfileFields;
  readonly loss: readonly Loss[];
}

/** What became of one file. `diagnostics` and `loss` speak of the whole file. */
export interface AgentFile {
  readonly file: string;
  readonly format: AgentFormat;
  readonly status: "ok" | "warning" | "error" | "skipped";
  readonly agents: readonly ImportedAgent[];
  /** Of a file of MCP servers, and of configurations that hold some. */
  readonly servers: Readonly<Record<string, McpServer>>;
  readonly diagnostics: readonly Diagnostic[];
  readonly loss: readonly Loss[];
  /** SHA-256 of the file and of everything it includes. */
  readonly hash: string;
}
