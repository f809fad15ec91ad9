import type { McpServer } from "../../contracts/mcp-server.ts";
import { clip } from "../../text.ts";
import type { ProfileFields } from "../profiles/profile.ts";

/** The formats of agent files. `mandate` is our own. */
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
  | "yeet"
  | "yaml-agent"
  | "skill"
  | "mcp"
  | "unknown";

export interface Diagnostic {
  readonly severity: "note" | "warning" | "error";
  /** The line from 1, if known. */
  readonly line?: number;
  /** The agent that this is about, where the file holds several. */
  readonly agent?: string;
  readonly message: string;
}

/** A setting of the file that the profile does not have, and what became of it. */
export interface Loss {
  readonly field: string;
  /** The agent that this is about, where the file holds several. */
  readonly agent?: string;
  /**
   * `kept`: stored as metadata, without effect; `narrowed`: stricter here than in its own program;
   * `unknown`: the name of an unknown tool, model or server, kept as it is.
   */
  readonly kind: "kept" | "narrowed" | "unknown";
  readonly detail: string;
}

/** An agent of a file; a file of modes or a configuration holds several. */
export interface ImportedAgent {
  /** A valid profile name. */
  readonly name: string;
  readonly fields: ProfileFields;
  readonly loss: readonly Loss[];
  /** In a file of ours: the program whose agent it was. */
  readonly importedFrom?: string;
}

/** The result of reading one file. `diagnostics` and `loss` cover the whole file. */
export interface AgentFile {
  readonly file: string;
  readonly format: AgentFormat;
  readonly status: "ok" | "warning" | "error" | "skipped";
  readonly agents: readonly ImportedAgent[];
  /** The MCP servers of the file. */
  readonly servers: Readonly<Record<string, McpServer>>;
  readonly diagnostics: readonly Diagnostic[];
  readonly loss: readonly Loss[];
  /** The SHA-256 of the file and of everything it includes. */
  readonly hash: string;
  /** Other files that decide what its agents may do, also those that do not exist. */
  readonly beside?: readonly string[];
}

/** An agent of another program, parsed and not yet interpreted. */
export interface ForeignAgent {
  readonly format: AgentFormat;
  /** The values under the keys of its format, as plain data. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** The name of an agent whose file has none: the stem of the file, a folder, a key. */
  readonly fallbackName: string;
  /** The text below the front matter. */
  readonly body: string;
  readonly findings: Findings;
  /** The settings of its program that apply to it, the outermost first. */
  readonly settings?: readonly Readonly<Record<string, unknown>>[];
  lineOf(key: string): number | undefined;
  /**
   * Reads a file below the source's folder. Undefined after a warning when that is not possible.
   */
  include(path: string): string | undefined;
}

/** The place of a restriction, for messages about it. */
export interface ToolsPlace {
  readonly field: string;
  readonly line: number | undefined;
  readonly findings: Findings;
  /** The names of the MCP servers that the file declares. */
  readonly servers: readonly string[];
  /** The format of the file: some words name several tools in it. */
  readonly format?: AgentFormat;
  /** Tools that a map does not name stay allowed, as in opencode. */
  readonly isOpenMap?: boolean;
  /** Words are rules of Claude Code, of which one covers all tools that edit, or all that read. */
  readonly isRule?: boolean;
}

/** Shortens a name for a message. */
export function shorten(text: string): string {
  return clip(text, 60);
}

const maximumFindings = 1000;

/** The messages and losses of one agent or one file. */
export class Findings {
  readonly diagnostics: Diagnostic[] = [];
  readonly loss: Loss[] = [];

  note(message: string, line?: number): void {
    this.#add("note", message, line);
  }

  warn(message: string, line?: number): void {
    this.#add("warning", message, line);
  }

  /** Marks the agent as unusable. Reading continues, so that all errors are reported at once. */
  refuse(message: string, line?: number): void {
    this.#add("error", message, line);
  }

  lose(field: string, kind: Loss["kind"], detail: string): void {
    if (this.loss.length < maximumFindings) this.loss.push({ field, kind, detail });
  }

  get hasFailed(): boolean {
    return this.diagnostics.some(({ severity }) => severity === "error");
  }

  /** Adds the findings of one agent; `agent` names it where the file holds several. */
  take(other: Findings, agent?: string): void {
    const about = agent === undefined ? {} : { agent };
    for (const diagnostic of other.diagnostics) this.add({ ...diagnostic, ...about });
    for (const loss of other.loss) {
      if (this.loss.length < maximumFindings) this.loss.push({ ...loss, ...about });
    }
  }

  /** Adds a message, up to a limit. The first error is always kept. */
  add(diagnostic: Diagnostic): void {
    const isError = diagnostic.severity === "error";
    if (this.diagnostics.length < maximumFindings || (isError && !this.hasFailed)) {
      this.diagnostics.push(diagnostic);
    }
  }

  #add(severity: Diagnostic["severity"], message: string, line: number | undefined): void {
    this.add(line === undefined ? { severity, message } : { severity, line, message });
  }
}

/** The fields that a reader made of certain keys. */
export interface ReadPolicy {
  readonly fields: ProfileFields;
  /** The keys that were read. A key that could not be read becomes metadata. */
  readonly keys: ReadonlySet<string>;
}
