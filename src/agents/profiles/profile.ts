/**
 * agents/ owns the definitions of agents: profiles, agent files of other programs, and skills.
 * It may import ports, contracts, events and workspaces; `documents/` reads files and imports only
 * ports and the shared text and file helpers.
 */
import type { AgentRunner } from "../../contracts/agent-runner.ts";
import { externalProfile } from "../../contracts/contract.ts";
import type { McpServer } from "../../contracts/mcp-server.ts";
import type { Selection } from "../../contracts/selection.ts";
import type { RuleSet, ToolRule } from "../../contracts/tool-rule.ts";
import type { Effort } from "../../ports/model.ts";

/**
 * The definition of an agent. Every format (Markdown, JSON, YAML, TOML, records, files of other
 * programs) is converted to this type. An absent field inherits; an empty list means none.
 */
export interface Profile extends ProfileFields {
  readonly name: string;
  readonly description: string;
  readonly capabilities: readonly Capability[];
  readonly prompt: string;
  /** The source of its last layer, for people. */
  readonly origin: string;
  /** The source of each field, by its dotted path. */
  readonly origins?: Readonly<Record<string, string>>;
  /**
   * Tool rules that a project's layers add. Each list is checked separately, in addition to
   * `toolRules`.
   */
  readonly addedRules?: readonly RuleSet[];
  /** The effect of a project's layers; absent: there are none. */
  readonly project?: ProjectPart;
}

export interface ProjectPart {
  /** The profile without the project, if the person or the product has one of this name. */
  readonly own?: Profile;
  /** The values of the project that were reduced or ignored, each with its layer. */
  readonly cut: readonly (CutField & { readonly origin: string })[];
  /** The hashes of the prompt files of its layers, as trusted. */
  readonly files: PromptFiles;
}

/** A value of a project's layer that was reduced or ignored. */
export interface CutField {
  /** A dotted path: `limits.tokens`. */
  readonly field: string;
  readonly asked: unknown;
  /** The value that applies instead; absent: the value without the project applies. */
  readonly kept?: unknown;
}

/** The SHA-256 of each file that a profile names for its prompt. */
export type PromptFiles = Readonly<Record<string, string>>;

/** The fields of a profile that one source sets. Merged field by field over earlier sources. */
export interface ProfileFields {
  /** The display name, where it differs from the name. */
  readonly title?: string;
  readonly description?: string;
  readonly capabilities?: readonly Capability[];
  /** The inline prompt: the Markdown body. */
  readonly prompt?: string;
  /** A file below the workspace root; its text precedes the inline prompt. */
  readonly systemPromptFile?: string;
  /**
   * Files below the workspace root at the beginning of the prompt; absent: AGENTS.md and
   * ENVIRONMENT.md.
   */
  readonly bootstrapFiles?: readonly string[];
  /** Text before the task in the agent's first message. */
  readonly opening?: string;
  readonly model?: ModelPolicy;
  /** The agent program that does the work; absent: our own loop. */
  readonly runner?: AgentRunner;
  readonly tools?: Selection;
  readonly toolRules?: readonly ToolRule[];
  readonly skills?: Selection;
  /** The names of MCP servers, from the configuration and from `servers`. */
  readonly mcpServers?: Selection;
  /** MCP servers that this profile declares. */
  readonly servers?: Readonly<Record<string, McpServer>>;
  readonly scopes?: Selection;
  readonly network?: Selection;
  /** The egress that stays allowed after untrusted input, within what the caller allows. */
  readonly waysOut?: Selection;
  readonly mayDelegate?: MayDelegate;
  readonly workspace?: WorkspacePolicy;
  readonly limits?: ProfileLimits;
  readonly triggers?: Triggers;
  readonly exit?: ExitRule;
  readonly onParentInterrupt?: "cancel" | "pause" | "continue";
  /** A hidden profile is not shown to models that choose a profile; a person can still name it. */
  readonly hidden?: boolean;
  /** A disabled profile cannot be used at all. */
  readonly disabled?: boolean;
  /** Kept without effect: colours, tags, authors, hooks (which never run). */
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export type Capability = "primary" | "subtask" | "watcher" | "orchestrator";

export interface ModelPolicy {
  /** `provider/model`; absent: the configured default. */
  readonly model?: string;
  /** The name of a list of models, tried in order, in place of `model`. */
  readonly pool?: string;
  /** Tried in order when the model is not available. */
  readonly fallbacks?: readonly string[];
  /** The models that `model_override` may choose, in addition to the models above. */
  readonly allow?: readonly string[];
  /** The context window in tokens, where it is smaller than the model's own. */
  readonly contextWindow?: number;
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  readonly topP?: number;
  readonly effort?: Effort;
}

/** What the agent may delegate, where that differs from what it may use. */
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
  /** Absent: a child that can write gets a working copy, any other child works in the folder. */
  readonly isolation?: "shared" | "sandbox" | "custom";
  /** For `custom`: the folder below the workspace root that is the whole workspace. */
  readonly folder?: string;
  readonly allowWrites?: boolean;
  /** Folders below the workspace root that may be written; absent: all of it. */
  readonly writeRoots?: readonly string[];
  /** Commands that must succeed on the merged files before the merge is accepted. */
  readonly checks?: readonly string[];
  /** A person has to approve the changes before they are merged. */
  readonly approval?: boolean;
}

export interface ProfileLimits {
  readonly tokens?: number;
  readonly cost?: number;
  readonly timeoutMs?: number;
  readonly depth?: number;
  readonly retries?: number;
  /** The most model turns of one attempt; in the last one the best result is requested. */
  readonly turns?: number;
  readonly joinTokens?: number;
}

/** Other ways for people to call the agent than by name. */
export interface Triggers {
  /** Slash commands, without the slash. */
  readonly slash?: readonly string[];
  readonly hotkeys?: readonly string[];
}

export interface ExitRule {
  /**
   * The agent completes only by calling one of these tools. Empty or absent: a final text completes
   * it.
   */
  readonly tools?: readonly string[];
  /** A JSON Schema for the final output. */
  readonly outputSchema?: Readonly<Record<string, unknown>>;
  /** `tool_calls`: a report without any completed tool call is refused. */
  readonly evidence?: "none" | "tool_calls" | "files";
  /**
   * The profile that reviews what `submit_for_review` hands in, and after how many rounds a person
   * decides.
   */
  readonly review?: { readonly profile: string; readonly rounds?: number };
}

/** The names that a rule can be about. */
export const ruledTool = /^[\p{L}\p{N}_.:@/*-]+$/u;

const commandTools: ReadonlySet<string> = new Set(["shell"]);

/**
 * Whether a pattern means here what it seems to mean. Other programs have more syntax, and read as
 * plain text it would match nothing. In a command these characters are ordinary, and an exception
 * that is read as plain text allows less.
 */
export function isExpressible({
  action,
  match = "",
  tool,
}: Pick<ToolRule, "action" | "tool"> & { readonly match?: string | undefined }): boolean {
  return !/[{}[\]~]/.test(match) || (action === "allow" && commandTools.has(tool));
}

export const howReserved = `"${externalProfile}", which is reserved for agents that other programs run`;

/** The reason why no profile can have this name; undefined: one can. */
export function reservedName(name: string): string | undefined {
  if (name !== externalProfile) return undefined;
  return `A profile cannot be called ${howReserved}. Choose another name.`;
}
