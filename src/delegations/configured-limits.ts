import { serverPattern } from "../contracts/mcp-tool-name.ts";
import type { Config } from "../control/config.ts";
import type { Toolbox } from "../tools/toolbox.ts";
import type { EngineLimits } from "./engine-parts.ts";

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
