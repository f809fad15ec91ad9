import { serverPattern } from "./contracts/mcp-server.ts";
import type { RunGrant } from "./contracts/run-grant.ts";
import { everything } from "./contracts/selection.ts";
import { type Config, defaultWaysOut } from "./control/config.ts";
import type { EngineLimits, EngineParts } from "./delegations/engine-parts.ts";
import { optInTools } from "./tools/built-in-tools.ts";
import type { Toolbox } from "./tools/toolbox.ts";

/** The limits of the engine as the configuration sets them, and defaults for the others. */
export function configuredLimits(
  config: Config,
  toolbox: Toolbox,
  allowsModel: (name: string) => boolean,
): Omit<EngineLimits, "maxOutputTokens"> {
  const { delegation } = config.agents;
  return {
    maxDepth: delegation.maxDepth,
    defaultTokens: delegation.tokenBudget.default,
    maxTokens: delegation.tokenBudget.max,
    defaultTimeMs: delegation.defaultTimeout,
    allowsModel,
    spawningTools: toolbox.spawning,
    servers: Object.keys(config.mcp.servers).filter((name) => !config.mcp.servers[name]?.disabled),
    serverPattern,
    explicitTools: config.tools.spawn.explicit_tools,
    runTokens: config.limits.runTokens,
    runTimeMs: 3_600_000,
    maxChildren: config.limits.maxChildren,
    maxRetries: config.execution.maxRetries,
    joinTokens: config.limits.joinTokens,
    sealOnComplete: delegation.context.sealOnComplete,
    memory: delegation.context.brainWriteScope,
    askDeadlineMs: config.ask.deadlineMs,
    askDefault: config.ask.default ?? null,
    deadlines: config.deadlines,
    watchIntervalMs: 2000,
    requestTries: config.retry.maxAttempts,
    backoffMs: config.retry.initialDelayMs,
    maxBackoffMs: config.retry.maxDelayMs,
    toolOutputBytes: 64 * 1024,
    reportPathPattern: config.outputs.report_path_pattern,
    checks: config.integration.checks,
    approval: config.integration.approval,
    onUnknownProfile:
      delegation.onUnknown === "fallback" ? (delegation.defaultAgent ?? null) : null,
  };
}

interface SkillOffer {
  /** Whether there is any place where skills could be. */
  readonly hasSkills: boolean;
  /** Whether agents can load skills now. */
  offersSkills(): boolean;
}

/** The authority of a run's root: everything that this runtime has, within the configured limits. */
export function operatorGrant(
  skills: SkillOffer,
  { limits, toolbox }: Pick<EngineParts, "limits" | "toolbox">,
  config: Config,
  principal: RunGrant["principal"] = { id: "local", role: "operator" },
): RunGrant {
  const spawnIsOn = config.tools.spawn.enabled === true;
  // Asked for each run: a project's skills count from the moment in which they are trusted.
  const offered = (): readonly string[] =>
    skills.hasSkills && !skills.offersSkills()
      ? toolbox.names.filter((name) => toolbox.get(name)?.choosesFrom !== "skills")
      : toolbox.names;
  return {
    authority: {
      get tools() {
        return [...offered().filter((name) => spawnIsOn || !optInTools.has(name)), "mcp__*"];
      },
      skills: everything,
      mcp_servers: everything,
      models: everything,
      scopes: everything,
      write_roots: [],
      network: config.network.allow,
      ways_out: config.network.waysOut ?? defaultWaysOut,
    },
    get sessionTools() {
      return offered();
    },
    principal,
    depth: limits.maxDepth,
    timeMs: limits.runTimeMs,
    cost: null,
  };
}
