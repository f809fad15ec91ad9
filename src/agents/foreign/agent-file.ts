import type { McpServer } from "../../contracts/mcp-server.ts";
import { clip } from "../../text.ts";
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

/** One agent as its file says it: parsed, not yet understood. */
export interface ForeignAgent {
  readonly format: AgentFormat;
  /** Plain data under the keys of its format. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** What it is called where it does not say so: the file's stem, a folder, a key. */
  readonly fallbackName: string;
  /** The text below the front matter. */
  readonly body: string;
  readonly findings: Findings;
  lineOf(key: string): number | undefined;
  /** The text of a file below the source's folder, or undefined after saying why not. */
  include(path: string): string | undefined;
}

/** Where a restriction stands, for what is said about it. */
export interface ToolsPlace {
  readonly field: string;
  readonly line: number | undefined;
  readonly findings: Findings;
  /** Names of MCP servers that the file declares. */
  readonly servers: readonly string[];
  /** A map of tools says nothing about those that it does not name, as in opencode. */
  readonly isOpenMap?: boolean;
}

/** For messages: a file can hold a name of any length. */
export function shorten(text: string): string {
  return clip(text, 60);
}

const maximumFindings = 1000;

/** What is noticed while one agent or one file is read. */
export class Findings {
  readonly diagnostics: Diagnostic[] = [];
  readonly loss: Loss[] = [];

  note(message: string, line?: number): void {
    this.#add("note", message, line);
  }

  warn(message: string, line?: number): void {
    this.#add("warning", message, line);
  }

  /** The agent cannot be used: reading continues, so that everything wrong is said at once. */
  refuse(message: string, line?: number): void {
    this.#add("error", message, line);
  }

  lose(field: string, kind: Loss["kind"], detail: string): void {
    if (this.loss.length < maximumFindings) this.loss.push({ field, kind, detail });
  }

  get hasFailed(): boolean {
    return this.diagnostics.some(({ severity }) => severity === "error");
  }

  /** `agent`: the agent that it is about, where the file holds several. */
  take(other: Findings, agent?: string): void {
    const about = agent === undefined ? {} : { agent };
    for (const diagnostic of other.diagnostics) this.add({ ...diagnostic, ...about });
    for (const loss of other.loss) {
      if (this.loss.length < maximumFindings) this.loss.push({ ...loss, ...about });
    }
  }

  /** An error is never left out, however much has been said already. */
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

/** What one reader of keys made of them. */
export interface ReadPolicy {
  readonly fields: ProfileFields;
  /** The keys that were used up; what could not be read stays for the metadata. */
  readonly keys: ReadonlySet<string>;
}
