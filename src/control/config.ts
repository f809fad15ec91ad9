import type { ProfileLayer } from "../agents/profiles/profile-layer.ts";
import { defaultReportPattern } from "../contracts/contract.ts";
import type { McpServer } from "../contracts/mcp-server.ts";
import type { Selection } from "../contracts/selection.ts";
import type { TokenPrice } from "../contracts/token-price.ts";
import { shippedPools } from "./shipped-models.ts";

/**
 * The complete configuration, with every default. The names are those of the file. This module
 * loads no library, since most commands run without a file.
 */
export interface Config {
  readonly agents: { readonly delegation: DelegationConfig };
  readonly tools: { readonly spawn: SpawnConfig; readonly shell: ShellConfig };
  readonly models: ModelsConfig;
  readonly execution: ExecutionConfig;
  readonly limits: LimitsConfig;
  readonly deadlines: DeadlinesConfig;
  readonly retry: RetryConfig;
  readonly ask: AskConfig;
  readonly integration: IntegrationConfig;
  readonly outputs: OutputsConfig;
  readonly database: DatabaseConfig;
  readonly retention: RetentionConfig;
  readonly engine: EngineConfig;
  readonly mcp: McpConfig;
  readonly sandbox: SandboxConfig;
  readonly network: NetworkConfig;
  /** The inline profiles of `profiles` and of `tools.spawn.profiles`. */
  readonly profiles: readonly ProfileLayer[];
  /** The files that were read, the winning one last. */
  readonly files: readonly string[];
  /** Sentences about settings of a project's file that were reduced or ignored; absent: none. */
  readonly notTaken?: readonly string[];
}

export interface DelegationConfig {
  readonly enabled: boolean;
  readonly maxDepth: number;
  /** Milliseconds for one delegation in all. */
  readonly defaultTimeout: number;
  readonly maxConcurrent: number;
  /** Tokens for one delegation: the default and the maximum. */
  readonly tokenBudget: { readonly default: number; readonly max: number };
  readonly profiles: {
    readonly directory: string;
    /** A project's file names the folder, so it holds the project's profiles. */
    readonly isProjects?: boolean;
    /** The user's own folder, if the project names another. */
    readonly userDirectory?: string;
  };
  readonly context: {
    readonly sealOnComplete: boolean;
    /** Which agents see the memories of a sub-agent; `none`: agents save no memories. */
    readonly brainWriteScope: "none" | "delegated" | "shared";
  };
  /**
   * The effect of an unknown profile; `fallback` runs `defaultAgent`, with that agent's own rights.
   */
  readonly onUnknown: "error" | "fallback";
  readonly defaultAgent?: string;
}

export interface SpawnConfig {
  /** Null: not set, which is off for our own agents and on over MCP. */
  readonly enabled: boolean | null;
  /** `override`: the `tools` of a call replace the profile's, still limited by the caller. */
  readonly explicit_tools: "select" | "override";
}

export interface ShellConfig {
  readonly enabled: boolean;
  /** Commands reach the hosts that the contract grants, through a proxy. */
  readonly network: boolean;
  /**
   * Commands run without a sandbox where none is available, except those of read-only contracts.
   */
  readonly unsandboxed: boolean;
}

/** What holds for commands, MCP servers and agent programs in the sandbox alike. */
export interface SandboxConfig {
  /** The memory of one command or program with all that it starts; absent: half of the machine's. */
  readonly memoryMb?: number;
  readonly processes: number;
  /** Programs may make UNIX sockets; those of outside processes in the workspace are covered. */
  readonly unixSockets: boolean;
}

export interface NetworkConfig {
  /** The hosts that agents may reach, by name or `*.example.com`; "*": all public hosts. */
  readonly allow: Selection;
  /**
   * Egress after untrusted input: hosts and tools, in addition to the hosts in `allow`; absent: the
   * tools of MCP servers, which a person configured.
   */
  readonly waysOut?: Selection;
  /** Private addresses that may be reached, as `host:port`. */
  readonly allowPrivate: readonly string[];
}

export interface ModelsConfig {
  /** `provider/model`. */
  readonly default?: string;
  /** The default pool, in place of `default`. */
  readonly defaultPool?: string;
  /** The allowed models, by name or `provider/*`; absent: all. */
  readonly allow?: readonly string[];
  readonly providers: Readonly<Record<string, ProviderConfig>>;
  /** US dollars for a million tokens, by `provider/model`; overrides the shipped prices. */
  readonly prices: Readonly<Record<string, PriceConfig>>;
  /** Pools: the models behind a name, in the order in which they are tried. */
  readonly pools: Readonly<Record<string, readonly string[]>>;
}

export interface ProviderConfig {
  readonly kind: "anthropic" | "google" | "openai" | "openai-chat" | "openai-compatible";
  readonly baseUrl?: string;
  readonly apiKey?: string;
  /** The environment variable that holds the key. */
  readonly apiKeyEnv?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** US dollars for a million tokens. */
export type PriceConfig = TokenPrice;

/** Attempts of a plan's step; any other delegation has a single attempt with its whole time. */
export interface ExecutionConfig {
  readonly attemptTimeoutMs: number;
  readonly maxRetries: number;
}

export interface LimitsConfig {
  /** Tokens for a whole run. */
  readonly runTokens: number;
  /** Delegations in one tree. */
  readonly maxChildren: number;
  /** The most tokens of one result in the parent's context; a longer result becomes an artifact. */
  readonly joinTokens: number;
}

export interface DeadlinesConfig {
  readonly firstTokenMs: number;
  readonly stallMs: number;
  readonly toolMs: number;
  readonly idleMs: number;
}

/** Retries of requests that failed temporarily. */
export interface RetryConfig {
  readonly maxAttempts: number;
  readonly initialDelayMs: number;
  readonly maxDelayMs: number;
}

export interface AskConfig {
  readonly deadlineMs: number;
  /** The answer at the deadline; absent: the ask expires. */
  readonly default?: string;
}

/** Conditions for the changes of every child, in addition to the profile's checks. */
export interface IntegrationConfig {
  /** Commands that run on the merged files, in a sandbox, before the merge is accepted. */
  readonly checks: readonly string[];
  /** A person has to approve changes before they are merged. */
  readonly approval: boolean;
}

export interface OutputsConfig {
  /** The path of children's reports: `<run>`, `<idx>` and `<id>` are filled in. */
  readonly report_path_pattern: string;
}

export interface McpConfig {
  readonly servers: Readonly<Record<string, McpServer>>;
}

export interface DatabaseConfig {
  /** `full` also survives a power cut. */
  readonly synchronous: "full" | "normal";
  /** Postgres instead of the file in MANDATE_HOME. */
  readonly url?: string;
  /** The tenant, where several share one Postgres: none sees another's runs. */
  readonly tenant?: string;
  /** For Postgres: a bucket for large bodies, instead of the database. */
  readonly artifacts?: BucketConfig;
}

/** A bucket of an S3-compatible store; credentials come from the usual environment variables. */
export interface BucketConfig {
  readonly endpoint: string;
  readonly bucket: string;
  /** The prefix of all object names. */
  readonly prefix?: string;
  readonly region?: string;
}

export interface RetentionConfig {
  /** Servers and workers remove runs this many days after they finished; absent: never. */
  readonly days?: number;
  /** Failed runs are kept. */
  readonly keepFailed: boolean;
}

export interface EngineConfig {
  /**
   * `local`: the process that starts a run executes it. `dbos`: any number of workers on Postgres
   * do.
   */
  readonly kind: "local" | "dbos";
  /**
   * How workers get working copies. `shared`: all have one MANDATE_HOME. `bundle`: each has its
   * own, and copies are sent through the store.
   */
  readonly workspaces: "shared" | "bundle";
  /** The schema of the queues' tables. All servers and workers of a tenant have the same. */
  readonly schema: string;
  /**
   * The queues of delegations, by name. A delegation that matches no other queue goes to `default`.
   */
  readonly queues: Readonly<Record<string, QueueConfig>>;
}

export interface QueueConfig {
  /** The queue for delegations to these profiles. */
  readonly profiles?: readonly string[];
  /** The queue for delegations with a model of these providers. */
  readonly providers?: readonly string[];
  /** The most running delegations in all workers. Those that wait do not count. */
  readonly concurrency?: number;
  /** The most running delegations in one worker. */
  readonly workerConcurrency?: number;
  /** The most running delegations of one tenant. */
  readonly tenantConcurrency?: number;
  /** A smaller number comes first; 1 by default. */
  readonly priority?: number;
}

/** MCP servers are declared in a trusted configuration or profile. */
export const defaultWaysOut: Selection = ["mcp__*"];

export const defaultConfig: Omit<Config, "profiles" | "files" | "notTaken"> = {
  agents: {
    delegation: {
      enabled: true,
      maxDepth: 3,
      defaultTimeout: 300_000,
      maxConcurrent: 5,
      tokenBudget: { default: 50_000, max: 200_000 },
      profiles: { directory: "" }, // Where that is depends on the user: see `findPlaces`.
      context: { sealOnComplete: true, brainWriteScope: "delegated" },
      onUnknown: "error",
    },
  },
  tools: {
    spawn: { enabled: null, explicit_tools: "select" },
    shell: { enabled: true, network: false, unsandboxed: false },
  },
  models: { providers: {}, prices: {}, pools: shippedPools },
  execution: { attemptTimeoutMs: 90_000, maxRetries: 1 },
  limits: { runTokens: 1_000_000, maxChildren: 200, joinTokens: 8_000 },
  deadlines: { firstTokenMs: 120_000, stallMs: 60_000, toolMs: 120_000, idleMs: 600_000 },
  retry: { maxAttempts: 5, initialDelayMs: 500, maxDelayMs: 30_000 },
  ask: { deadlineMs: 900_000 },
  integration: { checks: [], approval: false },
  outputs: { report_path_pattern: defaultReportPattern },
  mcp: { servers: {} },
  sandbox: { processes: 1024, unixSockets: false },
  network: { allow: "*", allowPrivate: [] },
  database: { synchronous: "full" },
  retention: { keepFailed: false },
  engine: { kind: "local", workspaces: "shared", schema: "mandate_engine", queues: {} },
};
