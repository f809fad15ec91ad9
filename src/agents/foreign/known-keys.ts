/** The keys of all Markdown dialects: where YAML fails, these begin a value. */
export const knownKeys: ReadonlySet<string> = new Set(
  `
  name title displayName display_name description model tools color category tags version author
  temperature top_p topP hooks capabilities priority metadata effort initialPrompt permissionMode
  disallowedTools maxTurns memory background isolation skills mcpServers allowed-tools allowed_tools
  allowedTools extends mode permission permissions disable disabled hidden enabled variant steps
  maxSteps prompt options max_turns timeout_mins kind mcp_servers mcp-servers argument-hint
  user-invocable user-invokable disable-model-invocation infer handoffs agents target readonly
  is_background sandbox_mode model_reasoning_effort reasoningEffort developer_instructions
  instructions systemPrompt system_prompt license compatibility slug whenToUse roleDefinition
  customInstructions groups thinking fallbackModels type keywords triggers examples constraints
  id role created updated date status source domain focus platform resources
  workspace limits toolRules mayDelegate maxTokenBudget scopes network waysOut toolsSettings
`
    .trim()
    .split(/\s+/),
);

/** Keys whose values are prose: «user:» inside them is no key. */
export const proseKeys: ReadonlySet<string> = new Set([
  ...["description", "whenToUse", "prompt", "instructions", "developer_instructions"],
  ...["systemPrompt", "system_prompt", "roleDefinition", "customInstructions", "initialPrompt"],
  "argument-hint",
]);
