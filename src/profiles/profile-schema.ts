import { isAbsolute, win32 } from "node:path";
import { z } from "zod";

/**
 * The keys of a profile file. Every one is known and every restriction can be kept, or the file is
 * refused: a typo in a key that limits must not load as a profile without that limit.
 */

export const profileName = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9_-]{0,63}$/,
    "must be 1 to 64 lower-case letters, digits, - or _, and begin with a letter or digit",
  );

/** Selections compare whole names, so a pattern would silently match nothing. */
const selected = z
  .string()
  .regex(/^[^\s*]{1,256}$/, 'must be one name without spaces or *; write "*" alone for all');

/** `"*"` is all, `[]` is none. */
const selection = z.union([z.literal("*"), z.array(selected)]);

export const workspacePath = z
  .string()
  .min(1)
  .max(1024)
  .refine(staysBelow, "must be a relative path below the workspace, without ..");

export const modelName = z.string().regex(/^[^\s/]+\/\S+$/, 'must be written "provider/model"');

const count = z.int().positive();

const mayDelegate = z.strictObject({
  tools: selection.optional(),
  skills: selection.optional(),
  mcpServers: selection.optional(),
  models: selection.optional(),
  network: selection.optional(),
});

const modelPolicy = z.strictObject({
  model: modelName.optional(),
  allow: z.array(modelName).optional(),
  maxOutputTokens: count.optional(),
  temperature: z.number().min(0).max(2).optional(),
});

const workspacePolicy = z.strictObject({
  isolation: z.enum(["shared", "sandbox", "custom"]).optional(),
  allowWrites: z.boolean().optional(),
  writeRoots: z.array(workspacePath).optional(),
});

const limits = z.strictObject({
  tokens: count.optional(),
  cost: z.number().positive().optional(),
  // What a timer of the platform can hold.
  timeoutMs: count.max(2 ** 31 - 1).optional(),
  depth: z.int().nonnegative().optional(),
  retries: z.int().nonnegative().optional(),
  joinTokens: count.optional(),
});

const exitRule = z.strictObject({
  tools: z.array(selected).optional(),
  outputSchema: z.record(z.string(), z.unknown()).optional(),
  evidence: z.enum(["none", "tool_calls"]).optional(),
});

const fields = z.strictObject({
  name: profileName,
  description: z.string().trim().min(1).max(2000),
  capabilities: z
    .array(z.enum(["primary", "subtask", "watcher", "orchestrator"]))
    .min(1)
    .optional(),
  systemPromptFile: workspacePath.optional(),
  system_prompt_file: workspacePath.optional(),
  bootstrapFiles: z.array(workspacePath).optional(),
  bootstrap_files: z.array(workspacePath).optional(),
  model: z.union([modelName, modelPolicy]).optional(),
  tools: selection.optional(),
  allowedTools: selection.optional(),
  skills: selection.optional(),
  mcpServers: selection.optional(),
  scopes: selection.optional(),
  network: selection.optional(),
  mayDelegate: mayDelegate.optional(),
  workspace: workspacePolicy.optional(),
  limits: limits.optional(),
  maxTokenBudget: count.optional(),
  exit: exitRule.optional(),
  onParentInterrupt: z.enum(["cancel", "pause", "continue"]).optional(),
});

export type ProfileFields = z.infer<typeof fields>;

const sameMeaning: readonly (readonly [keyof ProfileFields, keyof ProfileFields])[] = [
  ["allowedTools", "tools"],
  ["systemPromptFile", "system_prompt_file"],
  ["bootstrapFiles", "bootstrap_files"],
];

export const profileSchema = fields.superRefine((profile, context) => {
  for (const [key, other] of sameMeaning) {
    if (profile[key] === undefined || profile[other] === undefined) continue;
    const message = `means the same as "${key}", which is there too; keep one of them`;
    context.addIssue({ code: "custom", path: [other], message });
  }
  if (profile.maxTokenBudget !== undefined && profile.limits?.tokens !== undefined) {
    const message = 'means the same as "limits.tokens", which is there too; keep one of them';
    context.addIssue({ code: "custom", path: ["maxTokenBudget"], message });
  }
});

function staysBelow(path: string): boolean {
  if (isAbsolute(path) || win32.isAbsolute(path) || path.includes("\0")) return false;
  return !path.split(/[\\/]/).includes("..");
}
