import { type Clock, systemClock, timeoutSignal } from "../ports/clock.ts";
import { MandateError } from "../ports/mandate-error.ts";
import { builtInProviders } from "./provider-catalog.ts";
import { type Environment, resolveProvider } from "./resolve-provider.ts";

export interface LocalEndpoint {
  readonly provider: string;
  readonly baseUrl: string;
  /** Names of models, as the server lists them. */
  readonly models: readonly string[];
}

interface DetectOptions {
  readonly clock?: Clock;
  /** How long a server may take to answer. */
  readonly timeoutMs?: number;
}

const mostModels = 50;
const mostBytes = 256 * 1024;
const modelId = /^[\w.:@/+-]{1,200}$/;

/**
 * Finds running local model servers at their default or configured addresses. For `mandate doctor`
 * only: a start must not wait for it, nor choose a model because a program answers on a port. No key
 * is sent, and a server counts only when it lists models.
 */
export async function detectLocalEndpoints(
  environment: Environment,
  { clock = systemClock, timeoutMs = 500 }: DetectOptions = {},
): Promise<readonly LocalEndpoint[]> {
  const providers = Object.entries(builtInProviders).filter(([, { isLocal }]) => isLocal);
  const found = await Promise.all(
    providers.map(([provider]) => probe(provider, environment, timeoutSignal(clock, timeoutMs))),
  );
  return found.filter((endpoint) => endpoint !== null);
}

async function probe(
  provider: string,
  environment: Environment,
  signal: AbortSignal,
): Promise<LocalEndpoint | null> {
  try {
    const { baseUrl } = resolveProvider(provider, environment, {});
    const response = await fetch(`${baseUrl}/models`, {
      signal,
      redirect: "error",
    });
    const models = response.ok ? listedModels(await readBounded(response)) : null;
    return models === null ? null : { provider, baseUrl, models };
  } catch (error) {
    // No server, another server, or one too slow to be local. An invalid address is reported
    // where the provider itself is looked at.
    if (error instanceof MandateError || isExpected(error)) return null;
    throw error;
  }
}

/** Whether a program answers there, with anything: a page of a proxy, a refusal, a redirect. */
export async function isAnswering(baseUrl: string): Promise<boolean> {
  try {
    const signal = timeoutSignal(systemClock, 500);
    const { body } = await fetch(`${baseUrl}/models`, { signal, redirect: "manual" });
    await body?.cancel();
    return true;
  } catch (error) {
    if (isExpected(error)) return false;
    throw error;
  }
}

/** Null when the answer is not a list of models. */
export function listedModels(text: string): readonly string[] | null {
  const { data, models = data } = (JSON.parse(text) ?? {}) as { data?: unknown; models?: unknown };
  if (!Array.isArray(models)) return null;
  return models
    .map((entry: { id?: unknown; name?: unknown } | null) => entry?.id ?? entry?.name)
    .map((id) => (typeof id === "string" ? id.replace(/^models\//, "") : id))
    .filter((id): id is string => typeof id === "string" && modelId.test(id))
    .slice(0, mostModels);
}

export async function readBounded(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > mostBytes) throw new SyntaxError("the answer is too long");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** Errors that `fetch`, a timeout or `JSON.parse` throw. */
function isExpected(error: unknown): boolean {
  return (
    error instanceof TypeError || error instanceof SyntaxError || error instanceof DOMException
  );
}
