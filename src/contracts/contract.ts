import type { Effort } from "../ports/model.ts";
import type { Authority } from "./authority.ts";
import type { Carried } from "./exposure.ts";
import type { McpServer } from "./mcp-server.ts";
import type { Selection } from "./selection.ts";
import type { TokenPrice } from "./token-price.ts";
import type { RuleSet } from "./tool-rule.ts";

/**
 * What one child was granted: frozen at creation, stored in `sub_agents.context_json`, hashed into
 * `agent.subagent_created` and checked again at every transition. `parent`, `step`, `permissions`,
 * `execution` and `outputs` are the names of the execution specification; the rest is what code
 * needs to enforce them. Written once, never patched.
 */
export interface Contract {
  readonly version: 1;
  readonly parent: {
    readonly run_id: string;
    /** Null when the caller is a person, or an agent that Mandate does not run. */
    readonly sub_agent_id: string | null;
    /** Of a watcher: the delegation whose session it watches. */
    readonly watches?: string;
    /**
     * What it begins with may hold more than its own tools could bring: a stranger's words that its
     * caller had read (or the delegation it continues, or its prompt's files), and with them what that
     * one could read. Absent: neither.
     */
    readonly carries?: readonly Carried[];
    /**
     * Addresses in its task that no agent composed after untrusted input: they may be fetched as they
     * are without asking. Absent: none.
     */
    readonly addresses?: readonly string[];
    readonly step_idx: number;
    readonly depth: number;
    readonly task_prompt: string;
    readonly goal_summary: string;
  };
  readonly step: {
    readonly title: string;
    readonly description: string;
    readonly context: string | null;
    readonly success_criteria: readonly string[];
  };
  readonly profile: {
    readonly id: string;
    readonly hash: string;
    /** Hash of the system prompt as assembled at creation; the text is kept beside the log. */
    readonly prompt: string;
    /** The handle it was delegated to by, when it was by one. */
    readonly agent?: string;
    /** As what it was started; absent: as a subtask. */
    readonly capability?: "primary" | "watcher" | "orchestrator";
  };
  readonly model: {
    readonly provider: string;
    readonly model: string;
    readonly allow: Selection;
    readonly max_output_tokens: number;
    readonly temperature: number | null;
    readonly top_p?: number;
    readonly effort?: Effort;
    /** Tokens of the window that may be used, where that is less than the model's own. */
    readonly context_window?: number;
    /** Tried in order, as `provider/model`, when the model cannot be had. */
    readonly fallbacks?: readonly string[];
    /**
     * What its models cost, by `provider/model`: its requests reserve dollars by it, and are settled
     * by it. Absent where nothing has a price and nothing is capped, and in contracts that are older
     * than the field.
     */
    readonly prices?: Readonly<Record<string, TokenPrice>>;
  };
  readonly principal: { readonly id: string; readonly role: string };
  readonly permissions: {
    readonly allowed_tools: readonly string[];
    readonly can_spawn_children: boolean;
    readonly max_delegation_depth: number;
    /** Tools that it lacks only because no level of delegation is left; absent: none. */
    readonly beyond_depth?: readonly string[];
    readonly skills: Selection;
    readonly mcp_servers: Selection;
    readonly scopes: Selection;
    readonly write_roots: readonly string[];
    readonly network: Selection;
    /** Egress that stays allowed after untrusted input: hosts and tools; absent: none. */
    readonly ways_out?: Selection;
    /** As what it may save memories; absent in contracts that are older than the field. */
    readonly memory?: MemoryPermission;
    /** Rules that calls have to pass: its own and those of all its ancestors. */
    readonly rules?: readonly RuleSet[];
    /** Null: the same as what it may use itself. */
    readonly may_delegate: Authority | null;
  };
  /** The MCP servers that its profile brings and the contract grants, as they were declared then. */
  readonly servers?: Readonly<Record<string, McpServer>>;
  readonly execution: {
    readonly attempt_timeout_ms: number;
    readonly max_retries: number;
    /** Model turns of one attempt; absent: as many as the budget holds. */
    readonly max_turns?: number;
    readonly close_on_completion: true;
  };
  readonly outputs: {
    readonly report_format: "markdown";
    /** Null: the report is kept in the log only. */
    readonly report_path_pattern: string | null;
    /** What `<idx>` is in the pattern: of a step's further try `2-2`, below another planner `1.2`. */
    readonly report_index?: string;
    /** Its caller may read what it said and did, once it is closed; absent: that is sealed. */
    readonly transcript?: true;
  };
  readonly budget: {
    readonly tokens: number;
    readonly cost: number | null;
    /** Kept back so that a last turn can still return the best result. */
    readonly reserve: number;
  };
  readonly workspace: {
    /** `shared`: in its caller's folder; `sandbox`: in a copy of its own; `custom`: in a part of it. */
    readonly isolation: "shared" | "sandbox" | "custom";
    readonly root: string | null;
    readonly allow_writes: boolean;
    /** Of a copy: the commit that it starts from. */
    readonly base: string | null;
    /** Patterns, relative to the root, that every path it changes must match; none: any path. */
    readonly owns: readonly string[];
    /** Of a copy: its id, and the folder that it stands for. Write roots are named in that one. */
    readonly copy?: { readonly id: string; readonly of: string };
    /** Commands that the merged files have to pass, each in a sandbox, before they are taken over. */
    readonly checks?: readonly string[];
    /** A person is asked before its changes are taken over. */
    readonly approval?: true;
  };
  readonly exit: {
    readonly tools: readonly string[];
    readonly output_schema: Readonly<Record<string, unknown>> | null;
    readonly evidence: "none" | "tool_calls" | "files";
    /** Who looks at what it hands in, and how often before a person decides. */
    readonly review?: { readonly profile: string; readonly rounds: number };
  };
  readonly on_parent_interrupt: "cancel" | "pause" | "continue";
  readonly join: { readonly max_tokens: number };
  /** Milliseconds. `total` counts over all attempts; the others are about the moment. */
  readonly deadlines: {
    readonly first_token: number;
    readonly stall: number;
    readonly tool: number;
    readonly idle: number;
    readonly total: number;
  };
}

/**
 * `delegated`: for itself and its own line, unless it is the root of its session, which saves for
 * all; `shared`: for all in its workspace.
 */
export type MemoryPermission = (typeof memoryPermissions)[number];

/** From the least to the most. */
export const memoryPermissions = ["none", "delegated", "shared"] as const;

/**
 * The provider in the contract of an agent that another program runs: its turns are made elsewhere,
 * and the log has only its calls.
 */
export const externalProvider = "external";

/** The profile in such a contract. No profile can have this name: see `clientOf` for the program's. */
export const externalProfile = "external";

/** The name of the program that runs the agent; undefined for an agent that Mandate runs. */
export function clientOf({ model }: Pick<Contract, "model">): string | undefined {
  return model.provider === externalProvider ? model.model : undefined;
}

/** What the holder of a contract may use itself. */
export function mayUse(contract: Contract): Authority {
  const { permissions } = contract;
  return {
    tools: permissions.allowed_tools,
    skills: permissions.skills,
    mcp_servers: permissions.mcp_servers,
    models: contract.model.allow,
    scopes: permissions.scopes,
    write_roots: permissions.write_roots,
    network: permissions.network,
    ...(permissions.ways_out && { ways_out: permissions.ways_out }),
    ...(permissions.rules && { rules: permissions.rules }),
  };
}

/** What the holder of a contract may hand on. */
export function mayDelegate(contract: Contract): Authority {
  return contract.permissions.may_delegate ?? mayUse(contract);
}

/** All that a contract gives, for its holder or to hand on. */
export function allGrantedBy(contract: Contract): Authority {
  const [own, given] = [mayUse(contract), mayDelegate(contract)];
  return {
    tools: union(own.tools, given.tools),
    skills: union(own.skills, given.skills),
    mcp_servers: union(own.mcp_servers, given.mcp_servers),
    models: union(own.models, given.models),
    scopes: union(own.scopes, given.scopes),
    write_roots: [...new Set([...own.write_roots, ...given.write_roots])],
    network: union(own.network, given.network),
    ways_out: union(own.ways_out ?? [], given.ways_out ?? []),
    ...(own.rules && { rules: own.rules }),
  };
}

function union(left: Selection, right: Selection): Selection {
  return left === "*" || right === "*" ? "*" : [...new Set([...left, ...right])];
}

export function modelName(contract: Contract): string {
  return `${contract.model.provider}/${contract.model.model}`;
}

/** What a child is told besides its task: what its profile always says, and what this caller says. */
export function contextFor(
  opening: string | undefined,
  context: string | undefined,
): string | null {
  const said = context?.trim() === "" ? undefined : context;
  if (opening === undefined) return said ?? null;
  return said === undefined ? opening : `${opening}\n\n${said}`;
}

/** The child's first message: its context and its task, and nothing of its caller's conversation. */
export function openingOf({ step }: Pick<Contract, "step">): string {
  const criteria = step.success_criteria.map((criterion) => `- ${criterion}`).join("\n");
  return [
    step.context === null ? "" : `Context:\n${step.context}`,
    `Task:\n${step.description}`,
    criteria === "" ? "" : `Success criteria:\n${criteria}`,
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}

/**
 * Where the report of a child is written, relative to the workspace. `<run>` is the run's id, `<id>`
 * the child's, and `<idx>` its index in its plan.
 */
export const defaultReportPattern = ".mandate/reports/<run>/step-<idx>-result.md";

/** Of `.mandate`, what agents cannot write, reports alone have their place. */
export const ownReportFolder = ".mandate/reports/";

/** What a pattern may hold between `<` and `>`. */
export const reportPlaceholders: readonly string[] = ["<run>", "<idx>", "<id>"];

/** The pattern of a child that is no step of a plan: it has no index, and is named by its id. */
export function patternById(pattern: string): string {
  return pattern.replaceAll("step-<idx>", "<id>").replaceAll("<idx>", "<id>");
}

export interface ReportNames {
  readonly run: string;
  readonly id: string;
  readonly idx: string;
}

/**
 * @example
 * reportPath("reports/<run>/step-<idx>.md", { run: "r1", id: "a1b2c3", idx: "2" });
 * // "reports/r1/step-2.md"
 */
export function reportPath(pattern: string, { id, idx, run }: ReportNames): string {
  return pattern.replaceAll("<run>", run).replaceAll("<idx>", idx).replaceAll("<id>", id);
}
