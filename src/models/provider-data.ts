import type { SharedV4ProviderOptions } from "@ai-sdk/provider";
import type { ToolCall } from "../ports/model.ts";

/**
 * One piece of a reply, in the order it came, with what the provider attached to it (signatures,
 * encrypted reasoning, item ids). Text and arguments are not repeated here, they are in the message.
 */
export type Fragment = { readonly options?: SharedV4ProviderOptions } & (
  | { readonly kind: "reasoning"; readonly text: string }
  | { readonly kind: "text"; readonly length: number }
  | { readonly kind: "call"; readonly id: string }
);

/** What a reply's `providerData` holds; plain JSON, since it is stored with the turn. */
export interface ProviderData {
  /** Only this model gets it back: another one could not read it, and may refuse it. */
  readonly model: string;
  readonly fragments: readonly Fragment[];
}

/**
 * The fragments, when they were made by this model and still fit their message: a conversation may
 * have been shortened since, or continued by another model.
 */
export function readProviderData(
  data: unknown,
  model: string,
  message: { readonly text: string; readonly calls: readonly ToolCall[] },
): readonly Fragment[] | null {
  if (!isProviderData(data) || data.model !== model) return null;
  let length = 0;
  let calls = 0;
  for (const fragment of data.fragments) {
    if (fragment.kind === "text") length += fragment.length;
    if (fragment.kind === "call") calls += 1;
  }
  const fits = length === message.text.length && calls === message.calls.length;
  return fits ? data.fragments : null;
}

function isProviderData(data: unknown): data is ProviderData {
  const candidate = data as Partial<ProviderData> | null | undefined;
  return typeof candidate?.model === "string" && Array.isArray(candidate.fragments);
}
