/**
 * The tools that agents call, and the gate that every call passes (gate.ts). This file is what a tool
 * is. The folder may import ports, contracts, events, workspaces, agents, control and models.
 */
import type { z } from "zod";
import { type Keys, requireKnownKeys } from "../agents/documents/nearest-key.ts";
import type { Exposure } from "../contracts/exposure.ts";
import type { CallSubjects } from "../contracts/judge-by-rules.ts";
import type { Selection } from "../contracts/selection.ts";
import type { RuleSet } from "../contracts/tool-rule.ts";
import type {
  ConnectionEvidence,
  FileEvidence,
  MemoryReference,
  Polls,
  StartedTool,
} from "../events/event.ts";
import type { Delegator } from "../ports/delegator.ts";
import { MandateError } from "../ports/mandate-error.ts";
import type { WorkspaceBinding } from "../workspaces/bind-workspace.ts";

/** The kind of effect that a call has. */
export type Effect = "read" | "write" | "exec" | "network" | "spawn";

/**
 * A tool that agents can call. The gate checks that the contract grants the tool, and parses the
 * input. Paths, hosts and sizes are checked by `execute`, with the context of the call.
 */
export interface Tool<Input = unknown> {
  readonly name: string;
  readonly description: string;
  /** Sentences that follow the description where another tool is offered as well, by its name. */
  readonly alongside?: Readonly<Record<string, string>>;
  readonly effect: Effect;
  /** Whether a call that a crash interrupted may be made again. */
  readonly idempotent: boolean;
  /** Whether calls read untrusted or private data, or send data out. */
  readonly exposure: Exposure;
  /** The scopes that the contract must have, all of them. */
  readonly scopes: readonly string[];
  readonly input: z.ZodType<Input>;
  /** Names that are accepted for parameters of other names, and shown to no model. */
  readonly aliases?: Readonly<Record<string, string>>;
  /**
   * The output of the delegation, when its exit rule names this tool. When the rule names other
   * tools, a call is refused unless the tool is also useful without completing.
   */
  ends?(input: Input): string;
  /** Where the contract names a reviewer, a call does not complete the delegation yet. */
  readonly mayComeBack?: true;
  /** Has a use other than completing the delegation. */
  readonly isAlsoUseful?: true;
  /** What models are shown, where that is stricter than what is accepted. */
  readonly shown?: z.ZodType;
  /** JSON Schema that models are shown as it is, for tools that others describe. */
  readonly parameters?: Readonly<Record<string, unknown>>;
  /**
   * May stay open as long as the delegation itself: it waits for people or, with the effect `spawn`,
   * for children.
   */
  readonly waits?: true;
  /**
   * Calling it again is how an agent waits, so the same call in a row is no sign of a loop.
   * `results`: it also takes the results of children that other calls made, which has them merged.
   */
  readonly polls?: Polls;
  /**
   * What a call itself does to the files of the workspace: nothing, or only what its result names in
   * `files`. Absent: it may change any file.
   */
  readonly changes?: "none" | "reported";
  /** Calls of the tool save memories, which outlive the run. */
  readonly savesMemory?: true;
  /** The results are JSON about children, with ids and times that differ from run to run. */
  readonly describesChildren?: true;
  /** What its calls choose from: the prompt of an agent that has the tool lists it. */
  readonly choosesFrom?: "profiles" | "agents" | "skills";
  /** Whether its programs run without a sandbox, as the operator said: contracts name it. */
  isUnsandboxed?(): boolean;
  /**
   * What an agent program does by itself, inside its sandbox, in place of this tool. A contract that
   * grants the tool lets the program do it, and the program is not offered the tool.
   */
  readonly native?: NativeAct;
  /** Other agents do not get it, whatever their profile says. */
  readonly onlyFor?: "watcher" | "orchestrator";
  /**
   * Checks the input against the context (workspace, skills) before the call starts; throws
   * `CallDenied`. `execute` checks again what it opens, since it can change.
   */
  preflight?(input: Input, context: ToolContext): void;
  /**
   * The subjects of a call, for rules with patterns: paths relative to the workspace's root, links
   * resolved, or plain text. Absent: such rules take the stricter reading.
   */
  about?(input: Input, context: ToolContext): CallSubjects | Promise<CallSubjects>;
  /** The addresses that a call of an egress tool is sent to, as far as the input tells. */
  destinations?(input: Input): readonly URL[];
  execute(input: Input, context: ToolContext): Promise<ToolOutput> | ToolOutput;
}

export type NativeAct = (typeof nativeActs)[number];

const nativeActs = ["read", "find", "write", "edit", "run"] as const;

/** The traits that are logged when a call starts: folds of the log know no tools. */
export function startedTool({ changes, effect, polls, savesMemory, waits }: Tool): StartedTool {
  return {
    changes: changes ?? "any",
    ...(waits && effect === "spawn" && { joins: true }),
    ...(polls && { polls }),
    ...(savesMemory && { saves_memory: true }),
  };
}

export interface ToolContext {
  readonly runId: string;
  readonly delegationId: string;
  readonly callId: string;
  readonly workspace: WorkspaceBinding | null;
  /** The contract's, by name; asked when a skill is loaded. */
  readonly skills: Selection;
  /** Hosts that the contract lets be reached. */
  readonly network: Selection;
  /** The contract's rules, for subjects that appear during a call, such as a redirect. */
  readonly rules?: readonly RuleSet[] | undefined;
  /**
   * Whether a call may go on to this address without an approval, given what the agent has read.
   * `from` is the address that redirects. Absent: every address is open.
   */
  readonly mayLeadTo?: ((url: URL, from: URL) => boolean) | undefined;
  /** Aborts at the tool's deadline, at the delegation's, and when the delegation is cancelled. */
  readonly signal: AbortSignal;
  readonly delegator: Delegator;
}

export type ToolOutput = string | ToolResult;

export interface ToolResult {
  readonly text: string;
  /** The model sees an error; the event is `agent.tool_failed`, unless it is recorded already. */
  readonly isError?: boolean;
  /** The call is an error because a person was asked and did not consent. */
  readonly notApproved?: true;
  /** The call is an error because the machine could not start a child, so the run fails. */
  readonly spawnFailed?: true;
  /** What it did to files, for the evidence in the seal. */
  readonly files?: readonly FileEvidence[];
  /** The result contains untrusted input, although the tool's exposure does not say so. */
  readonly untrusted?: true;
  /** How a program that it ran ended by itself, for the same. */
  readonly exitCode?: number;
  /** The hosts that a program in a sandbox asked for. */
  readonly connections?: readonly ConnectionEvidence[];
  /** The memory that it saved: the log commits to all of it. */
  readonly memory?: MemoryReference;
  /** Completes the delegation with this output. */
  readonly exit?: string;
  /** The most bytes of the text that are shown, if fewer than for other tools. */
  readonly shownBytes?: number;
  /** The completion of this call is in the log already. */
  readonly recorded?: true;
}

/**
 * Defines a tool; its input type comes from the schema. Throws when a trait is missing or unknown.
 *
 * @example
 * const clock = defineTool({
 *   name: "clock",
 *   description: "Tells the time.",
 *   effect: "read",
 *   idempotent: true,
 *   scopes: [],
 *   exposure: { untrusted: false, private: false, wayOut: false },
 *   input: z.strictObject({}),
 *   execute: () => new Date().toISOString(),
 * });
 */
export function defineTool<Input>(tool: Tool<Input>): Tool {
  requireToolDefinition(tool as Tool);
  return tool as Tool;
}

/**
 * Judges a tool when it is defined, and again where it is registered: what a JavaScript program
 * left out would otherwise fail during a run. There are no defaults: a tool without effect or scopes
 * is not declared harmless.
 */
export function requireTool(tool: Tool): void {
  const given: unknown = tool;
  if (typeof given !== "object" || given === null) {
    throw new MandateError(
      "usage",
      `A tool is an object, not ${given === null ? given : typeof given}.`,
    );
  }
  const { name } = tool;
  if (typeof name !== "string") refuse("A tool", "name", 'a string, such as "look_up"');
  for (const [field, isFit, write] of rules) {
    if (!isFit(tool[field])) refuse(`The tool ${JSON.stringify(name)}`, field, write);
  }
  for (const [field, words] of traits) {
    if (tool[field] === undefined || words.includes(tool[field])) continue;
    const write = `${words.map((word) => JSON.stringify(word)).join(" or ")}, or leave it out`;
    refuse(`The tool ${JSON.stringify(name)}`, field, write);
  }
  if (tool.changes === "none" && tool.effect === "write") {
    const write = '"reported" where its result names in `files` what it changed, or leave it out';
    refuse(`The tool ${JSON.stringify(name)}`, "changes", write);
  }
}

/** Checks the tool for `defineTool`, and refuses unknown keys: a misspelt `exposure` would have no effect. */
function requireToolDefinition(tool: Tool): void {
  requireTool(tool);
  requireKnownKeys(`defineTool(${JSON.stringify(tool.name)})`, tool, toolKeys);
}

const effects = {
  read: true,
  write: true,
  exec: true,
  network: true,
  spawn: true,
} satisfies Record<Effect, true>;

/** Optional traits, with the values that each may have. */
const traits: readonly (readonly [keyof Tool, readonly unknown[]])[] = [
  ["mayComeBack", [true]],
  ["isAlsoUseful", [true]],
  ["waits", [true]],
  ["polls", ["state", "results"]],
  ["changes", ["none", "reported"]],
  ["savesMemory", [true]],
  ["describesChildren", [true]],
  ["choosesFrom", ["profiles", "agents", "skills"]],
  ["native", nativeActs],
  ["onlyFor", ["watcher", "orchestrator"]],
];

/** Required traits: what each must be, and what to write. */
const rules: readonly (readonly [keyof Tool, (value: unknown) => boolean, string])[] = [
  ["description", isText, "a sentence for the model that may call it"],
  [
    "alongside",
    (value) => value === undefined || isTexts(value),
    "sentences by the name of the other tool, or nothing",
  ],
  [
    "effect",
    (value) => typeof value === "string" && Object.hasOwn(effects, value),
    "what a call does to the world: read, write, exec, network or spawn",
  ],
  [
    "idempotent",
    (value) => typeof value === "boolean",
    "true where a call that a crash cut may simply be made again, otherwise false",
  ],
  [
    "scopes",
    (value) => Array.isArray(value) && value.every(isText),
    "the scopes that a contract must hold for it, or [] for none",
  ],
  [
    "exposure",
    isExposure,
    "{ untrusted, private, wayOut } with a boolean for each (untrusted: true where it can return what strangers wrote; private: true where it can return what is private; wayOut: true where its input can leave the machine)",
  ],
  [
    "input",
    (value) => typeof value === "object" && value !== null && "safeParse" in value,
    "a schema of Zod: z.strictObject({ … })",
  ],
  ["execute", (value) => typeof value === "function", "the function that does it"],
];

const toolKeys = {
  name: true,
  description: true,
  alongside: true,
  effect: true,
  idempotent: true,
  exposure: true,
  scopes: true,
  input: true,
  aliases: true,
  ends: true,
  mayComeBack: true,
  isUnsandboxed: true,
  isAlsoUseful: true,
  shown: true,
  parameters: true,
  waits: true,
  polls: true,
  changes: true,
  savesMemory: true,
  describesChildren: true,
  choosesFrom: true,
  native: true,
  onlyFor: true,
  preflight: true,
  about: true,
  destinations: true,
  execute: true,
} satisfies Keys<Tool>;

function isText(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}

function isTexts(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.values(value).every(isText);
}

function isExposure(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const { private: hidden, untrusted, wayOut } = value as Partial<Exposure>;
  return (
    typeof untrusted === "boolean" &&
    (typeof hidden === "boolean" || hidden === "workspace") &&
    (typeof wayOut === "boolean" || wayOut === "granted_hosts" || wayOut === "address")
  );
}

function refuse(what: string, field: string, write: string): never {
  throw new MandateError("usage", `${what} has no usable "${field}": write ${write}.`);
}
