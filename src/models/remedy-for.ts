import { nearestKey } from "../agents/documents/nearest-key.ts";
import { shippedModelNames } from "../control/shipped-models.ts";
import { type Clock, timeoutSignal } from "../ports/clock.ts";
import type { ModelFault } from "../ports/model.ts";
import { listedModels, readBounded } from "./detect-local-endpoints.ts";
import { builtInProviders } from "./provider-catalog.ts";
import type { ProviderSettings } from "./resolve-provider.ts";

interface RemedyContext {
  readonly settings: ProviderSettings;
  readonly modelId: string;
  /** The variable that holds the key; undefined: the configuration holds it, or the provider takes no key. */
  readonly keyVariable: string | undefined;
  readonly fetch: typeof fetch;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** What a person can do about a fault of a model, in a sentence; undefined: the fault says it all. */
export async function remedyFor(
  { cause, kind }: ModelFault,
  context: RemedyContext,
): Promise<string | undefined> {
  const { keyVariable, settings } = context;
  const { baseUrl, kind: protocol, provider } = settings;
  const builtIn = Object.hasOwn(builtInProviders, provider)
    ? builtInProviders[provider]
    : undefined;
  const entry = `models.providers.${provider}`;
  const address = builtIn?.baseUrlVariable ?? `${entry}.baseUrl`;
  const checkAddress = `Check the network, and the address ${withoutSecrets(baseUrl)} (${address}).`;
  switch (kind) {
    case "unauthorized":
      return keyVariable === undefined
        ? `Correct the key of "${provider}" in your configuration (${entry}).`
        : `Set ${keyVariable} to a valid key.`;
    case "unknown-model":
      return nameModels(context);
    case "wrong-address":
      return `Correct the address of "${provider}" (${address} is ${withoutSecrets(baseUrl)}), or sign in to the proxy in front of it.`;
    case "unreachable":
      if (codeOf(cause) === "ENOTFOUND") return checkAddress;
      return builtIn?.isLocal === true
        ? `Start ${provider}, or set ${address} to where it listens.`
        : `Start the server at ${withoutSecrets(baseUrl)}, or correct ${address}.`;
    case "unreadable":
      return `Check that ${withoutSecrets(baseUrl)} speaks the protocol "${protocol}" (${address}).`;
    case "rejected":
      return "Change what the provider names in the profile or the request, or choose another model (--model or MANDATE_MODEL).";
    case "spend-cap":
      return "Raise the limit or add credit at the provider, or choose another model (--model or MANDATE_MODEL).";
    case "overloaded":
    case "rate-limited":
      return "Try again later, or name other models under fallbacks in the profile.";
    case "connection":
      return neverConnected.has(codeOf(cause)) ? checkAddress : "Check the network, and try again.";
    case "context-overflow":
      return undefined;
    default:
      return kind satisfies never;
  }
}

const neverConnected: ReadonlySet<unknown> = new Set(["ECONNREFUSED", "EAI_AGAIN"]);

function codeOf(cause: unknown): unknown {
  return (cause as { code?: unknown } | undefined)?.code;
}

/** An address may hold a password or a key. */
function withoutSecrets(address: string): string {
  const url = URL.parse(address);
  return url === null ? "that address" : `${url.origin}${url.pathname}`;
}

const mostNamed = 8;

/** The models that resemble the unknown name, or some that the provider offers. */
async function nameModels(context: RemedyContext): Promise<string> {
  const { modelId, settings } = context;
  const listed = await listModels(context).catch(() => null);
  const names = listed ?? shippedModelNames(settings.provider);
  const full = (name: string): string => `${settings.provider}/${name}`;
  const near = nearestOf(modelId, names).map(full);
  if (near.length > 0) return `Did you mean ${near.join(" or ")}?`;
  if (names.length === 0) return "Look up its name at the provider.";
  const others = names.length > mostNamed ? `, and ${names.length - mostNamed} more` : "";
  return `It offers ${names.slice(0, mostNamed).map(full).join(", ")}${others}.`;
}

/** Up to three, the most similar one first. */
function nearestOf(name: string, names: readonly string[]): readonly string[] {
  const left = new Set(names);
  const near: string[] = [];
  while (near.length < 3) {
    const found = nearestKey(name, left, 5);
    if (found === undefined) break;
    near.push(found);
    left.delete(found);
  }
  return near;
}

const patienceMs = 2000;

/** What the provider lists; null: it lists nothing that can be read. */
async function listModels(context: RemedyContext): Promise<readonly string[] | null> {
  const { clock, fetch, settings, signal } = context;
  const { apiKey, baseUrl, headers } = settings;
  const response = await fetch(`${baseUrl}/models`, {
    headers: { ...(apiKey === undefined ? {} : keyHeaders(settings.kind, apiKey)), ...headers },
    signal: AbortSignal.any([signal, timeoutSignal(clock, patienceMs)]),
  });
  return response.ok ? listedModels(await readBounded(response)) : null;
}

function keyHeaders(kind: ProviderSettings["kind"], key: string): Readonly<Record<string, string>> {
  if (kind === "anthropic") return { "x-api-key": key, "anthropic-version": "2023-06-01" };
  return kind === "google" ? { "x-goog-api-key": key } : { authorization: `Bearer ${key}` };
}
