import type { Effort } from "../ports/model.ts";
import type { AgentRunner } from "./agent-runner.ts";
import type { Authority } from "./authority.ts";
import type { Carried } from "./exposure.ts";
import type { McpServer } from "./mcp-server.ts";
import type { Selection } from "./selection.ts";
import type { TokenPrice } from "./token-price.ts";
import type { RuleSet } from "./tool-rule.ts";

/**
 * All that one child was granted. The contract is created with the delegation and never changes. It is
 * stored in `sub_agents.context_json`; its hash is in `agent.subagent_created`, and is compared whenever
 * the contract is read. The field names are a stored format.
 */
export interface Contract {
  readonly version: 1;
  readonly parent: {
    readonly run_id: string;
    /** Null when the caller is a person, or an agent that Mandate does not run. */
    readonly sub_agent_id: string | null;
    /** Only of a watcher: the delegation that it watches. */
    readonly watches?: string;
    /**
     * Whether its first messages may contain untrusted input, or private data that its own tools could
     * not read: from its caller, the delegation it continues, or files in its prompt. Absent: neither.
     */
    readonly carries?: readonly Carried[];
    /**
     * Addresses in its task that were not written by a tainted agent: fetching exactly these needs no
     * approval. Absent: none.
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
    /** Hash of the assembled system prompt; the text is stored beside the log. */
    readonly prompt: string;
    /** The registered agent's handle, when the request named one. */
    readonly agent?: string;
    /** The role of the delegation in its run; absent: a subtask. */
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
    /** Usable tokens of the context window, where that is less than the model's own. */
    readonly context_window?: number;
    /** `provider/model` names, tried in order when the model is unavailable. */
    readonly fallbacks?: readonly string[];
    /**
     * Prices by `provider/model`, by which requests reserve and settle dollars. Absent where no model
     * has a price and no cost is capped, and in contracts that are older than the field.
     */
    readonly prices?: Readonly<Record<string, TokenPrice>>;
  };
  /** The agent program that works on it; absent: Mandate asks the model itself. */
  readonly runner?: AgentRunner;
  readonly principal: { readonly id: string; readonly role: string };
  readonly permissions: {
    readonly allowed_tools: readonly string[];
    readonly can_spawn_children: boolean;
    readonly max_delegation_depth: number;
    /** Tools that are missing only because no level of delegation is left; absent: none. */
    readonly beyond_depth?: readonly string[];
    /** Tools that are withheld only because the token budget has no room for them. */
    readonly beyond_budget?: readonly string[];
    readonly skills: Selection;
    readonly mcp_servers: Selection;
    readonly scopes: Selection;
    readonly write_roots: readonly string[];
    readonly network: Selection;
    /** The egress allowlist: hosts and tools that need no approval even when tainted; absent: none. */
    readonly ways_out?: Selection;
    /** Tools that run programs without a sandbox, as the operator said; absent: none. */
    readonly unsandboxed?: readonly string[];
    /** The widest scope in which it may save memories; absent in contracts that are older than the field. */
    readonly memory?: MemoryPermission;
    /** Rules that every call must pass: its own and those of all its ancestors. */
    readonly rules?: readonly RuleSet[];
    /** Null: the same as `mayUse`. */
    readonly may_delegate: Authority | null;
  };
  /** The granted MCP servers that its profile declares itself, as declared at creation. */
  readonly servers?: Readonly<Record<string, McpServer>>;
  readonly execution: {
    readonly attempt_timeout_ms: number;
    readonly max_retries: number;
    /** Model turns of one attempt; absent: limited by the budget alone. */
    readonly max_turns?: number;
    readonly close_on_completion: true;
  };
  readonly outputs: {
    readonly report_format: "markdown";
    /** Null: no report file is written. */
    readonly report_path_pattern: string | null;
    /** The value of `<idx>` in the pattern: `2-2` for the second try of step 2, `1.2` below another planner. */
    readonly report_index?: string;
    /** The caller may read the transcript once the delegation is closed; absent: only its result. */
    readonly transcript?: true;
  };
  readonly budget: {
    readonly tokens: number;
    readonly cost: number | null;
    /** Tokens kept back for a last turn that returns the best result. */
    readonly reserve: number;
  };
  readonly workspace: {
    /** `shared`: its caller's folder; `sandbox`: a working copy of its own; `custom`: a subfolder. */
    readonly isolation: "shared" | "sandbox" | "custom";
    readonly root: string | null;
    readonly allow_writes: boolean;
    /** The commit that a working copy starts from; null: no working copy. */
    readonly base: string | null;
    /** Patterns, relative to the root, that every changed path must match; empty: any path. */
    readonly owns: readonly string[];
    /** The id of a working copy, and the original folder, to which `write_roots` refer. */
    readonly copy?: { readonly id: string; readonly of: string };
    /** Commands that must succeed on the merged files, each in a sandbox, before the merge is accepted. */
    readonly checks?: readonly string[];
    /** A person must approve the merge of its changes. */
    readonly approval?: true;
    /** The changes stay in the copy, for a person to merge. */
    readonly keep?: true;
  };
  readonly exit: {
    readonly tools: readonly string[];
    readonly output_schema: Readonly<Record<string, unknown>> | null;
    readonly evidence: "none" | "tool_calls" | "files";
    /** The reviewer of its output, and the number of rounds before a person decides. */
    readonly review?: { readonly profile: string; readonly rounds: number };
  };
  readonly on_parent_interrupt: "cancel" | "pause" | "continue";
  readonly join: { readonly max_tokens: number };
  /** Milliseconds. `total` covers all attempts; the others each cover one wait. */
  readonly deadlines: {
    readonly first_token: number;
    readonly stall: number;
    readonly tool: number;
    readonly idle: number;
    readonly total: number;
  };
}

/**
 * `delegated`: memories for itself and its ancestors, except that the root of a session may save shared
 * ones; `shared`: memories for every agent in its workspace.
 */
export type MemoryPermission = (typeof memoryPermissions)[number];

/** Memory permissions, from the narrowest to the widest. */
export const memoryPermissions = ["none", "delegated", "shared"] as const;

/**
 * The provider in the contract of an agent that another program runs: that program makes its turns, and
 * the log contains only its calls.
 */
export const externalProvider = "external";

/** The profile in such a contract. No real profile can have this name; `clientOf` gives the program's. */
export const externalProfile = "external";

/** The name of the program that runs the agent; undefined for an agent that Mandate runs. */
export function clientOf({ model }: Pick<Contract, "model">): string | undefined {
  return model.provider === externalProvider ? model.model : undefined;
}

/** The authority that the holder of a contract may use itself. */
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

/** The authority that the holder of a contract may delegate. */
export function mayDelegate(contract: Contract): Authority {
  return contract.permissions.may_delegate ?? mayUse(contract);
}

/** The union of what the holder of a contract may use and may delegate. */
export function allGrantedBy(contract: Contract): Authority {
  const [own, given] = [mayUse(contract), mayDelegate(contract)];
  return {
    tools: union(union(own.tools, given.tools), contract.permissions.beyond_budget ?? []),
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

/** A child's context: its profile's `opening`, then what its caller adds. */
export function contextFor(
  opening: string | undefined,
  context: string | undefined,
): string | null {
  const said = context?.trim() === "" ? undefined : context;
  if (opening === undefined) return said ?? null;
  return said === undefined ? opening : `${opening}\n\n${said}`;
}

/** The child's first message: its context, its task and the success criteria. */
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
 * The path of a child's report, relative to the workspace. `<run>` is the run's id, `<id>` the child's
 * id, and `<idx>` its index in its plan.
 */
export const defaultReportPattern = ".mandate/reports/<run>/step-<idx>-result.md";

/** The only folder below the protected `.mandate` in which reports may be written. */
export const ownReportFolder = ".mandate/reports/";

/** The placeholders of a pattern. */
export const reportPlaceholders: readonly string[] = ["<run>", "<idx>", "<id>"];

/** The pattern for a child that is not a step of a plan: `<id>` replaces `<idx>`. */
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
