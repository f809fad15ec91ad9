import type { Profile } from "./profile.ts";
import type { ProfileFields } from "./profile-schema.ts";

/** What the file says, and nothing more: a key that is absent stays absent, so that it inherits. */
export function profileFromFields(fields: ProfileFields, prompt: string, origin: string): Profile {
  const { maxTokenBudget, limits } = fields;
  const merged = maxTokenBudget === undefined ? limits : { ...limits, tokens: maxTokenBudget };
  const profile = {
    name: fields.name,
    description: fields.description,
    capabilities: fields.capabilities ?? ["subtask"],
    prompt,
    systemPromptFile: fields.systemPromptFile ?? fields.system_prompt_file,
    bootstrapFiles: fields.bootstrapFiles ?? fields.bootstrap_files,
    model: typeof fields.model === "string" ? { model: fields.model } : fields.model,
    tools: fields.allowedTools ?? fields.tools,
    skills: fields.skills,
    mcpServers: fields.mcpServers,
    scopes: fields.scopes,
    network: fields.network,
    mayDelegate: fields.mayDelegate,
    workspace: fields.workspace,
    limits: merged,
    exit: fields.exit,
    onParentInterrupt: fields.onParentInterrupt,
    origin,
  };
  return withoutAbsent(profile) as unknown as Profile;
}

function withoutAbsent(record: object): object {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined));
}
