import type { ModelUsage } from "../../ports/model.ts";
import type { ProviderSettings } from "../resolve-provider.ts";
import { countOf, type Json, partOf, type WireRefusal } from "./wire-protocol.ts";

/** What both protocols of OpenAI have in common. */

/** More than an image of any model of this protocol is billed as. */
export const imageTokens = 50_000;

export function bearer({ apiKey }: ProviderSettings): Record<string, string> {
  return apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
}

export function errorBody({ isBudget, message, status }: WireRefusal): Json {
  const codes: Readonly<Record<number, string>> = {
    401: "invalid_api_key",
    403: "permission_denied",
    404: "not_found",
    413: "request_too_large",
  };
  const code = isBudget ? "insufficient_quota" : (codes[status] ?? "invalid_request");
  const type = isBudget ? "insufficient_quota" : "invalid_request_error";
  return { error: { message, type, param: null, code } };
}

export function listModels(names: readonly string[]): Json {
  const data = names.map((id) => ({ id, object: "model", created: 0, owned_by: "mandate" }));
  return { object: "list", data };
}

/** Both protocols name the same counts differently. */
export function usageFrom(usage: Json, prompt: string, completion: string): ModelUsage | null {
  const [input, output] = [usage[prompt], usage[completion]];
  if (typeof input !== "number") return null;
  const details = partOf(usage[`${prompt}_details`]);
  const written = countOf(details["cache_write_tokens"] ?? details["cache_creation_tokens"]);
  return {
    prompt: input,
    completion: countOf(output),
    cached: countOf(details["cached_tokens"]),
    cacheWrite: written,
  };
}
