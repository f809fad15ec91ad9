import { anthropicWire } from "../../models/gateway/anthropic-wire.ts";
import { chatWire } from "../../models/gateway/chat-wire.ts";
import { geminiWire } from "../../models/gateway/gemini-wire.ts";
import { responsesWire } from "../../models/gateway/responses-wire.ts";
import type { WireProtocol, WireRoute } from "../../models/gateway/wire-protocol.ts";

/** What a path of the gateway means. */
export type Endpoint =
  | { readonly kind: "ask"; readonly protocol: WireProtocol; readonly route: WireRoute }
  | { readonly kind: "list"; readonly protocol: WireProtocol }
  /** Some other endpoint of that protocol: it is refused in the protocol's own form. */
  | { readonly kind: "unknown"; readonly protocol: WireProtocol };

const generate: WireRoute = { action: "generate" };
const count: WireRoute = { action: "count" };

/** The list is complete: what is missing here is no endpoint. */
const endpoints: Readonly<Record<string, Endpoint>> = {
  "POST /anthropic/v1/messages": ask(anthropicWire, generate),
  "POST /anthropic/v1/messages/count_tokens": ask(anthropicWire, count),
  "GET /anthropic/v1/models": { kind: "list", protocol: anthropicWire },
  "POST /openai/v1/responses": ask(responsesWire, generate),
  "POST /openai/v1/responses/input_tokens": ask(responsesWire, count),
  "POST /openai/v1/chat/completions": ask(chatWire, generate),
  "GET /openai/v1/models": { kind: "list", protocol: chatWire },
  "GET /google/v1beta/models": { kind: "list", protocol: geminiWire },
};

const gemini =
  /^POST \/google\/(?:v1|v1beta|v1alpha)\/models\/(?<model>[\w.@+-]{1,200}):(?<verb>generateContent|streamGenerateContent|countTokens)$/;

/**
 * Finds the endpoint of a request. The target is compared as it was sent: nothing is decoded, joined
 * or made shorter. Undefined: the path belongs to no protocol.
 */
export function findEndpoint(method: string, target: string): Endpoint | undefined {
  const [path = "", query] = target.split("?", 2);
  const known = `${method} ${path}`;
  const match = gemini.exec(known)?.groups;
  if (match !== undefined) return geminiEndpoint(match, query);
  const isPlain = query === undefined || /^(?:beta=true|limit=\d+)?$/.test(query);
  if (isPlain && Object.hasOwn(endpoints, known)) return endpoints[known];
  if (path.startsWith("/anthropic/")) return { kind: "unknown", protocol: anthropicWire };
  if (path.startsWith("/openai/")) return { kind: "unknown", protocol: responsesWire };
  if (path.startsWith("/google/")) return { kind: "unknown", protocol: geminiWire };
  return undefined;
}

function geminiEndpoint(
  { model, verb }: Readonly<Record<string, string>>,
  query: string | undefined,
): Endpoint {
  const fields = new URLSearchParams(query ?? "");
  // The key is read from the headers; in an address it would be in logs of others.
  const isKnown = [...fields.keys()].every((name) => name === "alt" || name === "$alt");
  const isStreaming = verb === "streamGenerateContent";
  const form = fields.get("alt") ?? fields.get("$alt") ?? (isStreaming ? "array" : "json");
  if (!isKnown || form !== (isStreaming ? "sse" : form) || model === undefined) {
    return { kind: "unknown", protocol: geminiWire };
  }
  const action = verb === "countTokens" ? "count" : "generate";
  return ask(geminiWire, { action, model, isStreaming });
}

function ask(protocol: WireProtocol, route: WireRoute): Endpoint {
  return { kind: "ask", protocol, route };
}
