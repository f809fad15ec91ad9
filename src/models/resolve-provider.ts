import { nearestKey } from "../agents/documents/nearest-key.ts";
import type { ProviderConfig } from "../control/config.ts";
import { MandateError } from "../ports/mandate-error.ts";
import type { ModelsConfig } from "./model-registry.ts";
import {
  type BuiltInProvider,
  builtInProviders,
  officialBaseUrls,
  type ProviderKind,
} from "./provider-catalog.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** Everything that a client needs, so that it reads nothing from the process's environment. */
export interface ProviderSettings {
  readonly provider: string;
  readonly kind: ProviderKind;
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

/** A project's file may not say where models are reached. */
const ownFile = "your own configuration (~/.config/mandate/config.yaml)";

export function resolveProvider(
  provider: string,
  environment: Environment,
  config: ModelsConfig,
): ProviderSettings {
  const builtIn = own(builtInProviders, provider);
  const configured = own(config.providers ?? {}, provider);
  if (builtIn === undefined && configured === undefined) throw unknownProvider(provider, config);
  return {
    provider,
    kind: configured?.kind ?? builtIn?.kind ?? "openai-compatible",
    baseUrl: baseUrl(provider, environment, builtIn, configured),
    apiKey: apiKey(provider, environment, builtIn, configured),
    headers: configured?.headers ?? {},
  };
}

function baseUrl(
  provider: string,
  environment: Environment,
  builtIn: BuiltInProvider | undefined,
  configured: ProviderConfig | undefined,
): string {
  if (configured?.baseUrl !== undefined) return configured.baseUrl;
  const moved = builtIn === undefined ? undefined : environment[builtIn.baseUrlVariable];
  if (builtIn && moved) {
    return builtIn.isLocal ? localUrl(builtIn, moved) : trustedUrl(builtIn, moved);
  }
  const official = builtIn?.baseUrl ?? (configured && officialBaseUrls[configured.kind]);
  if (official === undefined) {
    const where = `models.providers.${provider}.baseUrl`;
    throw new MandateError(
      "model-not-configured",
      `The provider "${provider}" has no address: set ${where} in ${ownFile}.`,
    );
  }
  return official;
}

function apiKey(
  provider: string,
  environment: Environment,
  builtIn: BuiltInProvider | undefined,
  configured: ProviderConfig | undefined,
): string | undefined {
  if (configured?.apiKey) return configured.apiKey;
  const variable = keyVariable(builtIn, configured);
  const isBuiltIn = variable !== undefined && variable === builtIn?.keyVariable;
  const key = isBuiltIn ? keyIn(environment, builtIn) : environment[variable ?? ""];
  if (key) return key;
  const isRequired = configured?.apiKeyEnv !== undefined || builtIn?.needsKey === true;
  if (!isRequired) return undefined;
  const remedy =
    variable === undefined
      ? `name the variable that holds its key in models.providers.${provider}.apiKeyEnv`
      : `set ${variable}, or choose another model with MANDATE_MODEL`;
  throw new MandateError("model-not-configured", `"${provider}" has no key: ${remedy}.`);
}

/** The key of a built-in provider, from the first of its variables that is set. */
export function keyIn(environment: Environment, builtIn: BuiltInProvider): string | undefined {
  const { keyVariable: variable, otherKeyVariables = [] } = builtIn;
  if (variable === undefined) return undefined;
  for (const name of [variable, ...otherKeyVariables])
    if (environment[name]) return environment[name];
  return undefined;
}

/** The variable that would hold the key of a provider, if there is one. */
export function keyVariableOf(provider: string, config: ModelsConfig): string | undefined {
  return keyVariable(own(builtInProviders, provider), own(config.providers ?? {}, provider));
}

/** A configuration that changes a provider's address does not get the key of the original provider. */
function keyVariable(
  builtIn: BuiltInProvider | undefined,
  configured: ProviderConfig | undefined,
): string | undefined {
  const isMoved = configured?.baseUrl !== undefined;
  return configured?.apiKeyEnv ?? (isMoved ? undefined : builtIn?.keyVariable);
}

function unknownProvider(provider: string, config: ModelsConfig): MandateError {
  const known = [...Object.keys(builtInProviders), ...Object.keys(config.providers ?? {})];
  const nearest = nearestKey(provider, known);
  const hint =
    nearest === undefined ? `known are ${known.join(", ")}.` : `did you mean "${nearest}"?`;
  return new MandateError(
    "unknown-model",
    `unknown provider "${provider}"; ${hint} Others are added under models.providers in ${ownFile}.`,
  );
}

/** A local address as Ollama reads it: scheme, host and port are optional, and 0.0.0.0 is this machine. */
function localUrl({ baseUrl, baseUrlVariable }: BuiltInProvider, host: string): string {
  const address = host.startsWith(":") ? `127.0.0.1${host}` : host;
  const url = URL.parse(/^https?:\/\//.test(address) ? address : `http://${address}`);
  if (url === null) {
    const message = `${baseUrlVariable} is "${host}", which is no address: write host:port or a URL.`;
    throw new MandateError("model-not-configured", message);
  }
  if (url.hostname === "0.0.0.0") url.hostname = "127.0.0.1";
  if (url.port === "" && url.protocol === "http:") url.port = new URL(baseUrl).port;
  return `${url.origin}${url.pathname.replace(/\/(?:v1\/?)?$/, "")}/v1`;
}

/** Completes a vendor's base URL variable: vendors differ in whether it contains the version. */
function trustedUrl({ baseUrlVariable, kind }: BuiltInProvider, address: string): string {
  // The error does not quote the address: there may be a password in it.
  if (!/^https?:\/\//.test(address) || !URL.canParse(address)) {
    const message = `${baseUrlVariable} is no URL: write it as https://host/v1, or unset it.`;
    throw new MandateError("model-not-configured", message);
  }
  const url = address.replace(/\/+$/, "");
  const hasVersion = /\/v\d+(?:alpha|beta)?$/.test(url);
  if (kind === "anthropic" && !hasVersion) return `${url}/v1`;
  if (kind === "google" && !hasVersion) return `${url}/v1beta`;
  return url;
}

function own<Value>(record: Readonly<Record<string, Value>>, key: string): Value | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}
