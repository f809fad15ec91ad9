import type { ProfileLayer } from "../agents/profiles/profile-layer.ts";
import { defaultReportPattern } from "../contracts/contract.ts";
import type { McpServer } from "../contracts/mcp-server.ts";
import type { Selection } from "../contracts/selection.ts";
import type { TokenPrice } from "../contracts/token-price.ts";
import { shippedPools } from "./shipped-models.ts";

/**
 * What the operator decided, complete: every default is filled in. The names are those of the
 * file. This module loads nothing, since most commands run without a file.
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
  readonly network: NetworkConfig;
  /** The inline profiles of `profiles` and of `tools.spawn.profiles`. */
  readonly profiles: readonly ProfileLayer[];
  /** The files that were read, the winning one last. */
  readonly files: readonly string[];
  /** What a project's file says and may not, in sentences; absent: nothing. */
  readonly notTaken?: readonly string[];
}

export interface DelegationConfig {
  readonly enabled: boolean;
  readonly maxDepth: number;
  /** Milliseconds for one delegation in all. */
  readonly defaultTimeout: number;
  readonly maxConcurrent: number;
  /** Tokens for one delegation: when nothing is asked for, and at most. */
  readonly tokenBudget: { readonly default: number; readonly max: number };
  readonly profiles: {
    readonly directory: string;
    /** A project's file names it: what lies there is the project's, beside the user's own. */
    readonly isProjects?: boolean;
    /** The user's own, then. */
    readonly userDirectory?: string;
  };
  readonly context: {
    readonly sealOnComplete: boolean;
    /** Who sees what a sub-agent saves to memory; `none`: agents save nothing. */
    readonly brainWriteScope: "none" | "delegated" | "shared";
  };
  /** What an unknown profile does; `fallback` runs `defaultAgent`, with that agent's own rights. */
  readonly onUnknown: "error" | "fallback";
  readonly defaultAgent?: string;
}

export interface SpawnConfig {
  /** Null: not said. Then off for our own agents, and offered over MCP. */
  readonly enabled: boolean | null;
  /** `override`: the call's `tools` replace the profile's, still below the caller's ceiling. */
  readonly explicit_tools: "select" | "override";
}

export interface ShellConfig {
  readonly enabled: boolean;
  /** Commands of contracts that may reach every host may use the network. */
  readonly network: boolean;
  /** Commands run without a sandbox where no sandbox is available; never those of read-only contracts. */
  readonly unsandboxed: boolean;
}

export interface NetworkConfig {
  /** Hosts that agents may reach, by name or `*.example.com`; "*": every public one. */
  readonly allow: Selection;
  /**
   * Hosts and tools that stay open to agents that have read untrusted input, in addition to hosts that
   * `allow` names; absent: the tools of MCP servers, which a person configured.
   */
  readonly waysOut?: Selection;
  /** Private addresses that may be reached all the same, as `host:port`. */
  readonly allowPrivate: readonly string[];
}

export interface ModelsConfig {
  /** `provider/model`. */
  readonly default?: string;
  /** The pool that is used when no model is named, in place of `default`. */
  readonly defaultPool?: string;
  /** The only models anyone may use, by name or `provider/*`; absent: no such limit. */
  readonly allow?: readonly string[];
  readonly providers: Readonly<Record<string, ProviderConfig>>;
  /** US dollars for a million tokens, by `provider/model`, over the shipped ones. */
  readonly prices: Readonly<Record<string, PriceConfig>>;
  /** Names that profiles use in place of a model: models in the order in which they are tried. */
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

/** The attempts of a plan's step; any other delegation has its whole time for one. */
export interface ExecutionConfig {
  readonly attemptTimeoutMs: number;
  readonly maxRetries: number;
}

export interface LimitsConfig {
  /** Tokens for a whole run. */
  readonly runTokens: number;
  /** Delegations in one tree. */
  readonly maxChildren: number;
  /** What a parent takes in of one result; more becomes an artifact. */
  readonly joinTokens: number;
}

export interface DeadlinesConfig {
  readonly firstTokenMs: number;
  readonly stallMs: number;
  readonly toolMs: number;
  readonly idleMs: number;
}

/** Of requests to a model that failed in passing. */
export interface RetryConfig {
  readonly maxAttempts: number;
  readonly initialDelayMs: number;
  readonly maxDelayMs: number;
}

export interface AskConfig {
  readonly deadlineMs: number;
  /** The answer when none was given in time; absent: the ask expires. */
  readonly default?: string;
}

/** What every child's changes have to pass, in addition to its profile's checks. */
export interface IntegrationConfig {
  /** Commands that run on the merged files, in a sandbox, before these are taken over. */
  readonly checks: readonly string[];
  /** A person is asked before changes are taken over. */
  readonly approval: boolean;
}

export interface OutputsConfig {
  /** Where reports of children are written: `<run>`, `<idx>` and `<id>` are filled in. */
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
  /** Whose runs these are, where several share one Postgres: none sees another's. */
  readonly tenant?: string;
  /** With Postgres: where large bodies are kept, instead of in the database. */
  readonly artifacts?: BucketConfig;
}

/** A bucket of an S3-compatible store; who may use it is in the usual variables of the environment. */
export interface BucketConfig {
  readonly endpoint: string;
  readonly bucket: string;
  /** What the names of all objects begin with. */
  readonly prefix?: string;
  readonly region?: string;
}

export interface RetentionConfig {
  /** Servers and workers remove runs that finished so long ago; absent: nothing is removed. */
  readonly days?: number;
  /** Those that failed stay. */
  readonly keepFailed: boolean;
}

export interface EngineConfig {
  /** `local`: who starts a run works on it. `dbos`: workers do, any number of them, on Postgres. */
  readonly kind: "local" | "dbos";
  /**
   * How children's working copies get to workers. `shared`: all have one MANDATE_HOME. `bundle`: each
   * has its own, and copies travel through the store.
   */
  readonly workspaces: "shared" | "bundle";
  /** Where delegations wait for a worker, by name. What no other takes goes to `default`. */
  readonly queues: Readonly<Record<string, QueueConfig>>;
}

export interface QueueConfig {
  /** It takes delegations to these profiles. */
  readonly profiles?: readonly string[];
  /** It takes delegations whose model is of these providers. */
  readonly providers?: readonly string[];
  /** At work at the same time, at each depth of their trees: all together. */
  readonly concurrency?: number;
  /** In one worker. */
  readonly workerConcurrency?: number;
  /** Of one tenant. */
  readonly tenantConcurrency?: number;
  /** Smaller comes first; 1 where nothing is said. */
  readonly priority?: number;
}

/** Servers are in a configuration or a profile that is trusted. */
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
  network: { allow: "*", allowPrivate: [] },
  database: { synchronous: "full" },
  retention: { keepFailed: false },
  engine: { kind: "local", workspaces: "shared", queues: {} },
};
