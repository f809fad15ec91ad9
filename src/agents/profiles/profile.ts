import { externalProfile } from "../../contracts/contract.ts";
import type { McpServer } from "../../contracts/mcp-server.ts";
import type { Selection } from "../../contracts/selection.ts";
import type { RuleSet, ToolRule } from "../../contracts/tool-rule.ts";
import type { Effort } from "../../ports/model.ts";

/**
 * Who an agent is. Every format (Markdown, JSON, YAML, TOML, records, other programs' files) becomes
 * this one type. A field that is absent says nothing and inherits; an empty list says «none».
 */
export interface Profile extends ProfileFields {
  readonly name: string;
  readonly description: string;
  readonly capabilities: readonly Capability[];
  readonly prompt: string;
  /** Where it was read from, for people: the last of its layers. */
  readonly origin: string;
  /** For each field, by its dotted path, where it came from. */
  readonly origins?: Readonly<Record<string, string>>;
  /** Rules for calls that a project's layers add; each list binds by itself, beside `toolRules`. */
  readonly addedRules?: readonly RuleSet[];
  /** What the layers of a project did to it; absent: it has none. */
  readonly project?: ProjectPart;
}

export interface ProjectPart {
  /** The profile without the project, where the person or the product has one of this name. */
  readonly own?: Profile;
  /** What the project asked for and does not get, with the layer that asked. */
  readonly cut: readonly (CutField & { readonly origin: string })[];
  /** What the files that its layers name for the prompt held when they were trusted. */
  readonly files: PromptFiles;
}

/** A value of a project's layer that does not count as it was written. */
export interface CutField {
  /** A dotted path: `limits.tokens`. */
  readonly field: string;
  readonly asked: unknown;
  /** What counts in its place; absent: what the profile says without the project. */
  readonly kept?: unknown;
}

/** For each file that a profile names for its prompt, the SHA-256 of what it holds. */
export type PromptFiles = Readonly<Record<string, string>>;

/** What one source says of a profile. Merged field by field over what earlier sources say. */
export interface ProfileFields {
  /** The name as people write it, where that is more than the name. */
  readonly title?: string;
  readonly description?: string;
  readonly capabilities?: readonly Capability[];
  /** The inline prompt: the Markdown body. */
  readonly prompt?: string;
  /** A file below the workspace root whose text comes before the inline prompt. */
  readonly systemPromptFile?: string;
  /** Files below the workspace root that come first; absent: AGENTS.md and ENVIRONMENT.md. */
  readonly bootstrapFiles?: readonly string[];
  /** Comes before the task in the agent's first message. */
  readonly opening?: string;
  readonly model?: ModelPolicy;
  readonly tools?: Selection;
  readonly toolRules?: readonly ToolRule[];
  readonly skills?: Selection;
  /** Names of MCP servers, configured ones and those below. */
  readonly mcpServers?: Selection;
  /** Servers that this profile brings itself. */
  readonly servers?: Readonly<Record<string, McpServer>>;
  readonly scopes?: Selection;
  readonly network?: Selection;
  /** Egress that stays allowed after untrusted input, of what its caller is allowed. */
  readonly waysOut?: Selection;
  readonly mayDelegate?: MayDelegate;
  readonly workspace?: WorkspacePolicy;
  readonly limits?: ProfileLimits;
  readonly triggers?: Triggers;
  readonly exit?: ExitRule;
  readonly onParentInterrupt?: "cancel" | "pause" | "continue";
  /** Not shown to models that choose a profile; a person can still name it. */
  readonly hidden?: boolean;
  /** Cannot be used at all. */
  readonly disabled?: boolean;
  /** What has no meaning here and is kept: colours, tags, authors, hooks (which never run). */
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export type Capability = "primary" | "subtask" | "watcher" | "orchestrator";

export interface ModelPolicy {
  /** `provider/model`; absent: the configured default. */
  readonly model?: string;
  /** A configured or shipped list of models, tried in order, in place of `model`. */
  readonly pool?: string;
  /** Tried in order when the model cannot be had. */
  readonly fallbacks?: readonly string[];
  /** What `model_override` may choose from, beside the models above. */
  readonly allow?: readonly string[];
  /** Tokens that the model's window holds, where that is less than the model's own. */
  readonly contextWindow?: number;
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  readonly topP?: number;
  readonly effort?: Effort;
}

/** What the agent may hand on when that differs from what it may use. */
export interface MayDelegate {
  readonly tools?: Selection;
  readonly skills?: Selection;
  readonly mcpServers?: Selection;
  readonly models?: Selection;
  readonly scopes?: Selection;
  readonly network?: Selection;
  readonly waysOut?: Selection;
}

export interface WorkspacePolicy {
  /** Absent: a child that can write gets a copy of its own, everybody else works in the folder. */
  readonly isolation?: "shared" | "sandbox" | "custom";
  /** With `custom`: the folder below the workspace root that is its whole workspace. */
  readonly folder?: string;
  readonly allowWrites?: boolean;
  /** Folders below the workspace root that may be written; absent: all of it. */
  readonly writeRoots?: readonly string[];
  /** Commands that the merged files have to pass before they are taken over. */
  readonly checks?: readonly string[];
  /** A person is asked before its changes are taken over. */
  readonly approval?: boolean;
}

export interface ProfileLimits {
  readonly tokens?: number;
  readonly cost?: number;
  readonly timeoutMs?: number;
  readonly depth?: number;
  readonly retries?: number;
  /** Model turns of one attempt; at the last one the best result is asked for. */
  readonly turns?: number;
  readonly joinTokens?: number;
}

/** How people call the agent beside naming it. */
export interface Triggers {
  /** Words for after the slash, without it. */
  readonly slash?: readonly string[];
  readonly hotkeys?: readonly string[];
}

export interface ExitRule {
  /** The agent may stop only by calling one of these. Empty or absent: a final text ends it. */
  readonly tools?: readonly string[];
  /** JSON Schema that the final output must satisfy. */
  readonly outputSchema?: Readonly<Record<string, unknown>>;
  /** `tool_calls`: a report without a single completed tool call is not accepted. */
  readonly evidence?: "none" | "tool_calls" | "files";
  /** Who looks at what `submit_for_review` hands in, and how often before a person decides. */
  readonly review?: { readonly profile: string; readonly rounds?: number };
}

export const howReserved = `"${externalProfile}", which is reserved for agents that other programs run`;

/** Why no profile can have this name, in one sentence; undefined: one can. */
export function reservedName(name: string): string | undefined {
  if (name !== externalProfile) return undefined;
  return `A profile cannot be called ${howReserved}. Choose another name.`;
}
