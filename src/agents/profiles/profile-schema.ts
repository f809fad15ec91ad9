import { isAbsolute, win32 } from "node:path";
import { z } from "zod";
import { knownAgents } from "../../contracts/agent-runner.ts";
import { agentRunner } from "../../contracts/parse-contract.ts";
import {
  howReserved,
  isExpressible,
  type ProfileFields,
  reservedName,
  ruledTool,
} from "./profile.ts";

/**
 * The keys of a profile in our own formats. An unknown key or an impossible restriction refuses the
 * file: a misspelt limit must not load as a profile without that limit.
 */

export const profileName = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9_-]{0,63}$/,
    "must be 1 to 64 lower-case letters, digits, - or _, and begin with a letter or digit",
  )
  .refine((name) => reservedName(name) === undefined, `must be another name than ${howReserved}`);

/** Names are compared whole. The only pattern is all tools of one MCP server. */
const selected = z
  .string()
  .regex(
    /^(?:[^\s*]{1,256}|mcp__[^\s*]{1,200}__\*)$/,
    'must be one name without spaces or *; write "*" alone for all, mcp__server__* for a server\'s',
  );

/** `"*"` is all, `[]` is none. */
const selection = z.union([z.literal("*"), z.array(selected)]);

export const workspacePath = z
  .string()
  .min(1)
  .max(1024)
  .refine(staysBelow, "must be a relative path below the workspace, without ..");

export const modelName = z.string().regex(/^[^\s/]+\/\S+$/, 'must be written "provider/model"');

const count = z.int().positive();
// The most that a timer of the platform accepts.
const milliseconds = count.max(2 ** 31 - 1);
const word = z.string().regex(/^[a-z][a-z0-9-]{0,31}$/, "must be one lower-case word");

const mayDelegate = z.strictObject({
  tools: selection.optional(),
  skills: selection.optional(),
  mcpServers: selection.optional(),
  models: selection.optional(),
  scopes: selection.optional(),
  network: selection.optional(),
  waysOut: selection.optional(),
});

const modelPolicy = z
  .strictObject({
    model: modelName.optional(),
    pool: z.string().min(1).max(64).optional(),
    fallbacks: z.array(modelName).optional(),
    allow: z.array(modelName).optional(),
    contextWindow: count.optional(),
    maxOutputTokens: count.optional(),
    temperature: z.number().min(0).max(2).optional(),
    topP: z.number().min(0).max(1).optional(),
    effort: z.enum(["none", "minimal", "low", "medium", "high", "xhigh"]).optional(),
  })
  .refine(({ model, pool }) => model === undefined || pool === undefined, {
    path: ["pool"],
    error: 'has the same meaning as "model"; keep one of them',
  });

/** A rule for an impossible tool name would never apply, without any sign of it. */
const ruled = selected.regex(ruledTool, "must be the name of a tool");

const toolRule = z
  .strictObject({
    tool: z.union([z.literal("*"), ruled]),
    match: z.string().min(1).max(1024).optional(),
    action: z.enum(["allow", "ask", "deny"]),
  })
  .refine((rule) => isExpressible(rule), {
    path: ["match"],
    error: "may hold * and ?, and none of { } [ ] ~",
  });

const serverBase = {
  tools: z.array(z.string().min(1).max(256)).optional(),
  sharing: z.enum(["shared", "delegation"]).optional(),
  timeoutMs: milliseconds.optional(),
  disabled: z.boolean().optional(),
};
const texts = z.record(z.string(), z.string());

/** The declaration of an MCP server, in a profile and in the configuration alike. */
export const mcpServer = z.union([
  z.strictObject({
    kind: z.literal("stdio"),
    command: z.string().min(1),
    args: z.array(z.string()).optional(),
    env: texts.optional(),
    cwd: z.string().min(1).optional(),
    sandbox: z
      .union([
        z.literal(true),
        z.strictObject({
          network: z.array(z.string().min(1).max(300)).max(1000).optional(),
          read: z.array(z.string().startsWith("/")).max(100).optional(),
        }),
      ])
      .optional(),
    ...serverBase,
  }),
  z.strictObject({
    kind: z.literal("http"),
    url: z.string().min(1),
    headers: texts.optional(),
    ...serverBase,
  }),
]);

export const serverName = z
  .string()
  .regex(/^[^\s*]{1,128}$/, "must be one name without spaces or *");

/** `sandbox` is the older name of `copy`, and the one that contracts store. */
const isolation = z
  .enum(["shared", "copy", "custom", "sandbox"])
  .transform((value) => (value === "copy" ? "sandbox" : value));

const workspacePolicy = z.strictObject({
  isolation: isolation.optional(),
  folder: workspacePath.optional(),
  allowWrites: z.boolean().optional(),
  writeRoots: z.array(workspacePath).optional(),
  checks: z.array(z.string().trim().min(1).max(2000)).max(20).optional(),
  approval: z.boolean().optional(),
});

const limits = z.strictObject({
  tokens: count.optional(),
  cost: z.number().positive().optional(),
  timeoutMs: milliseconds.optional(),
  depth: z.int().nonnegative().optional(),
  retries: z.int().nonnegative().optional(),
  turns: count.optional(),
  joinTokens: count.optional(),
});

const exitRule = z.strictObject({
  tools: z.array(selected).optional(),
  outputSchema: z.record(z.string(), z.unknown()).optional(),
  evidence: z.enum(["none", "tool_calls", "files"]).optional(),
  review: z
    .strictObject({ profile: profileName, rounds: z.int().min(1).max(10).optional() })
    .optional(),
});

const triggers = z.strictObject({
  slash: z.array(word).optional(),
  hotkeys: z.array(z.string().regex(/^[a-z0-9+]{1,32}$/, "as in ctrl+shift+p")).optional(),
});

const document = z.strictObject({
  name: profileName.optional(),
  importedFrom: word.optional(),
  title: z.string().min(1).max(256).optional(),
  description: z.string().trim().min(1).max(8000).optional(),
  capabilities: z
    .array(z.enum(["primary", "subtask", "watcher", "orchestrator"]))
    .min(1)
    .optional(),
  prompt: z.string().optional(),
  system_prompt: z.string().optional(),
  systemPromptFile: workspacePath.optional(),
  system_prompt_file: workspacePath.optional(),
  bootstrapFiles: z.array(workspacePath).optional(),
  bootstrap_files: z.array(workspacePath).optional(),
  opening: z.string().optional(),
  model: z.union([modelName, modelPolicy]).optional(),
  pool: z.string().min(1).max(64).optional(),
  runner: z.union([z.enum(knownAgents), agentRunner]).optional(),
  tools: selection.optional(),
  allowedTools: selection.optional(),
  toolRules: z.array(toolRule).max(1000).optional(),
  skills: selection.optional(),
  mcpServers: selection.optional(),
  servers: z.record(serverName, mcpServer).optional(),
  scopes: selection.optional(),
  network: selection.optional(),
  waysOut: selection.optional(),
  mayDelegate: mayDelegate.optional(),
  workspace: workspacePolicy.optional(),
  limits: limits.optional(),
  maxTokenBudget: count.optional(),
  triggers: triggers.optional(),
  exit: exitRule.optional(),
  onParentInterrupt: z.enum(["cancel", "pause", "continue"]).optional(),
  hidden: z.boolean().optional(),
  disabled: z.boolean().optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
});

export type ProfileDocument = z.infer<typeof document>;

const sameMeaning: readonly (readonly [keyof ProfileDocument, keyof ProfileDocument])[] = [
  ["allowedTools", "tools"],
  ["systemPromptFile", "system_prompt_file"],
  ["bootstrapFiles", "bootstrap_files"],
  ["prompt", "system_prompt"],
  ["model", "pool"],
];

export const profileSchema = document.superRefine((profile, context) => {
  for (const [key, other] of sameMeaning) {
    if (profile[key] === undefined || profile[other] === undefined) continue;
    const message = `has the same meaning as "${key}"; keep one of them`;
    context.addIssue({ code: "custom", path: [other], message });
  }
  if (profile.maxTokenBudget !== undefined && profile.limits?.tokens !== undefined) {
    const message = 'has the same meaning as "limits.tokens"; keep one of them';
    context.addIssue({ code: "custom", path: ["maxTokenBudget"], message });
  }
});

function staysBelow(path: string): boolean {
  if (isAbsolute(path) || win32.isAbsolute(path) || path.includes("\0")) return false;
  return !path.split(/[\\/]/).includes("..");
}

/** The fields of a document. A key that is absent stays absent, so that it inherits. */
export function fieldsOfDocument(document: ProfileDocument): ProfileFields {
  const { name: _name, importedFrom: _from, maxTokenBudget, limits, ...others } = document;
  const { model, pool, runner, ...rest } = others;
  const { system_prompt, system_prompt_file, bootstrap_files, allowedTools, ...same } = rest;
  const fields = {
    ...same,
    prompt: nonEmpty((same.prompt ?? system_prompt)?.trim()),
    systemPromptFile: same.systemPromptFile ?? system_prompt_file,
    bootstrapFiles: same.bootstrapFiles ?? bootstrap_files,
    tools: allowedTools ?? same.tools,
    model: pool !== undefined ? { pool } : typeof model === "string" ? { model } : model,
    runner: typeof runner === "string" ? { agent: runner } : runner,
    limits: maxTokenBudget === undefined ? limits : { ...limits, tokens: maxTokenBudget },
  };
  return withoutAbsent(fields) as ProfileFields;
}

/** An empty prompt does not replace the prompt of an earlier layer. */
function nonEmpty(text: string | undefined): string | undefined {
  return text === "" ? undefined : text;
}

function withoutAbsent(record: object): object {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined));
}
