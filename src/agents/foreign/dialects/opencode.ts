import type { ImportedAgent } from "../agent-file.ts";
import type { ForeignAgent } from "../foreign-agent.ts";
import { importAgent } from "../import-agent.ts";
import { includeFiles } from "../include-files.ts";
import { isRecord, recordOf } from "../plain-data.ts";

type Fields = Readonly<Record<string, unknown>>;

/** opencode, as Markdown and as an entry of its configuration. */
export function importOpencode(agent: ForeignAgent): ImportedAgent {
  const prompt = includeFiles(agent.fields["prompt"] ?? agent.fields["system"], agent);
  const body = [agent.body, prompt].filter((text) => text !== "").join("\n\n");
  const used = ["prompt", "system"];
  // An entry may only change an agent that opencode brings itself.
  const substitute = `The agent ${agent.fallbackName} of an opencode configuration.`;
  const isEntry = agent.format === "opencode-json";
  return importAgent({ ...agent, body }, { used, ...(isEntry && { substitute }) });
}

/**
 * An agent of a configuration together with what that says for all agents: the agent's own words
 * come last, and the last match decides.
 */
export function withConfiguration(own: unknown, configuration: Fields): unknown {
  if (!isRecord(own)) return own;
  const tools = deniedTools(configuration["tools"]);
  return {
    ...own,
    ...(configuration["permission"] !== undefined && {
      permission: mergePermissions(configuration["permission"], own["permission"]),
    }),
    ...(Object.keys(tools).length > 0 &&
      (own["tools"] === undefined || isRecord(own["tools"])) && {
        tools: { ...tools, ...recordOf(own["tools"]) },
      }),
  };
}

function mergePermissions(common: unknown, own: unknown): unknown {
  if (own === undefined) return common;
  // Whatever is not a map of tools decides by itself, and where it is broken denies.
  if (!isRecord(own)) return own;
  return { ...(isRecord(common) ? common : { "*": common }), ...own };
}

function deniedTools(tools: unknown): Fields {
  return Object.fromEntries(Object.entries(recordOf(tools)).filter(([, isOn]) => isOn !== true));
}
