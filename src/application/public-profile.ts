import type { McpServer } from "../contracts/mcp-server.ts";
import type {
  CutRow,
  EffectiveField,
  EffectiveProfile,
  WaitingLayer,
} from "./effective-profile.ts";
import { describeServers } from "./public-contract.ts";

/** Without prompts where they are not to be seen: null says that they were left out. */
export type PublicProfile = Omit<EffectiveProfile, "cut" | "prompt" | "waiting"> & {
  readonly cut: readonly Pick<CutRow, "field" | "origin">[];
  readonly prompt: string | null;
  readonly waiting: readonly (Omit<WaitingLayer, "prompt"> & { readonly prompt: string | null })[];
};

/**
 * A profile for a remote reader: the registry is public, prompts are for operators, and what is
 * written into the declaration of a server is never shown.
 */
export function publicProfile(profile: EffectiveProfile, withPrompts: boolean): PublicProfile {
  return {
    ...profile,
    fields: profile.fields.map((field) => withoutText(field, withPrompts)),
    prompt: withPrompts ? profile.prompt : null,
    // Without the values: a declaration of a server may hold a secret.
    cut: profile.cut.map(({ field, origin }) => ({ field, origin })),
    waiting: profile.waiting.map(({ fields, prompt, ...layer }) => ({
      ...layer,
      fields: fields.map((field) => withoutText(withoutValues(field), withPrompts)),
      prompt: withPrompts ? prompt : null,
    })),
  };
}

function withoutValues(row: EffectiveField): EffectiveField {
  if (row.field !== "servers") return row;
  return { ...row, value: describeServers(row.value as Readonly<Record<string, McpServer>>) };
}

/** What comes before the task is a part of the prompt. */
function withoutText(row: EffectiveField, withPrompts: boolean): EffectiveField {
  return row.field === "opening" && !withPrompts ? { ...row, value: null } : row;
}
