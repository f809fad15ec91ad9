import type { ProfileFields } from "../../profiles/profile.ts";
import type { ImportedAgent } from "../agent-file.ts";
import type { ForeignAgent } from "../foreign-agent.ts";
import { readExtensions } from "../goose-extensions.ts";
import { importAgent, readText } from "../import-agent.ts";
import { isRecord, recordOf } from "../plain-data.ts";

/**
 * A recipe of Goose. `instructions` are the prompt and `prompt` is what is said first; a recipe
 * without instructions has only that to go by.
 */
export function importGoose(agent: ForeignAgent): ImportedAgent {
  const { fields, findings } = agent;
  const { extensions, settings, response, sub_recipes } = fields;
  const read = extensions === undefined ? undefined : readExtensions(extensions, agent);
  const { goose_provider, goose_model, temperature, max_turns } = recordOf(settings);
  const model = typeof goose_model === "string" ? goose_model : undefined;
  const flat = {
    ...fields,
    ...(model && {
      model: typeof goose_provider === "string" ? `${goose_provider}/${model}` : model,
    }),
    ...(temperature !== undefined && { temperature }),
    ...(max_turns !== undefined && { max_turns }),
  };
  for (const { path } of Array.isArray(sub_recipes) ? sub_recipes.map(recordOf) : []) {
    if (typeof path === "string") agent.include(path);
  }
  const { json_schema } = recordOf(response);
  const exit: ProfileFields = isRecord(json_schema) ? { exit: { outputSchema: json_schema } } : {};
  if (Array.isArray(fields["parameters"])) {
    findings.lose("parameters", "kept", "{{ }} is not filled in; the task has to say it");
  }
  const hasInstructions = readText(fields["instructions"]) !== undefined;
  const own: ProfileFields = {
    ...exit,
    ...(read && Object.keys(read.servers).length > 0 && { servers: read.servers }),
  };
  return importAgent(
    { ...agent, fields: flat },
    {
      name: ["name", "title"],
      title: ["title"],
      prompt: hasInstructions ? ["instructions"] : ["instructions", "prompt"],
      opening: hasInstructions ? ["prompt"] : [],
      used: ["extensions", "settings", ...(isRecord(json_schema) ? ["response"] : [])],
      parts: read === undefined ? [] : [read],
      fields: own,
    },
  );
}
