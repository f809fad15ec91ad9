import type { ProfileFields } from "./profile.ts";
import type { ProfileDocument } from "./profile-schema.ts";

/** What a document says, and nothing more: a key that is absent stays absent, so that it inherits. */
export function fieldsOfDocument(document: ProfileDocument): ProfileFields {
  const { name: _name, maxTokenBudget, limits, model, pool, ...rest } = document;
  const { system_prompt, system_prompt_file, bootstrap_files, allowedTools, ...same } = rest;
  const fields = {
    ...same,
    prompt: nonEmpty((same.prompt ?? system_prompt)?.trim()),
    systemPromptFile: same.systemPromptFile ?? system_prompt_file,
    bootstrapFiles: same.bootstrapFiles ?? bootstrap_files,
    tools: allowedTools ?? same.tools,
    model: pool !== undefined ? { pool } : typeof model === "string" ? { model } : model,
    limits: maxTokenBudget === undefined ? limits : { ...limits, tokens: maxTokenBudget },
  };
  return withoutAbsent(fields) as ProfileFields;
}

/** A text of nothing says nothing: the prompt of an earlier layer stands. */
function nonEmpty(text: string | undefined): string | undefined {
  return text === "" ? undefined : text;
}

function withoutAbsent(record: object): object {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined));
}
