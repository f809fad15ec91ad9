import type { Selection } from "../contracts/selection.ts";

/**
 * Who an agent is. Every format (Markdown, JSON, YAML, records) becomes this one type. A field that
 * is absent says nothing and inherits; an empty list says «none».
 */
export interface Profile {
  readonly name: string;
  readonly description: string;
  readonly capabilities: readonly Capability[];
  /** The inline prompt: the Markdown body. */
  readonly prompt: string;
  /** A file below the workspace root whose text comes before the inline prompt. */
  readonly systemPromptFile?: string;
  /** Files below the workspace root that come first; absent: AGENTS.md and ENVIRONMENT.md. */
  readonly bootstrapFiles?: readonly string[];
  readonly model?: ModelPolicy;
  readonly tools?: Selection;
  readonly skills?: Selection;
  readonly mcpServers?: Selection;
  readonly scopes?: Selection;
  readonly network?: Selection;
  readonly mayDelegate?: MayDelegate;
  readonly workspace?: WorkspacePolicy;
  readonly limits?: ProfileLimits;
  readonly exit?: ExitRule;
  readonly onParentInterrupt?: "cancel" | "pause" | "continue";
  /** Where it was read from, for people. */
  readonly origin: string;
}

export type Capability = "primary" | "subtask" | "watcher" | "orchestrator";

export interface ModelPolicy {
  /** `provider/model`; absent: the configured default. */
  readonly model?: string;
  /** What `model_override` may choose from, beside the model itself. */
  readonly allow?: readonly string[];
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
}

/** What the agent may hand on when that differs from what it may use. */
export interface MayDelegate {
  readonly tools?: Selection;
  readonly skills?: Selection;
  readonly mcpServers?: Selection;
  readonly models?: Selection;
  readonly network?: Selection;
}

export interface WorkspacePolicy {
  readonly isolation?: "shared" | "sandbox" | "custom";
  readonly allowWrites?: boolean;
  /** Folders below the workspace root that may be written; absent: all of it. */
  readonly writeRoots?: readonly string[];
}

export interface ProfileLimits {
  readonly tokens?: number;
  readonly cost?: number;
  readonly timeoutMs?: number;
  readonly depth?: number;
  readonly retries?: number;
  readonly joinTokens?: number;
}

export interface ExitRule {
  /** The agent may stop only by calling one of these. Empty or absent: a final text ends it. */
  readonly tools?: readonly string[];
  /** JSON Schema that the final output must satisfy. */
  readonly outputSchema?: Readonly<Record<string, unknown>>;
  /** `tool_calls`: a report without a single completed tool call is not accepted. */
  readonly evidence?: "none" | "tool_calls";
}
