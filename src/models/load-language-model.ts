import type { LanguageModelV4 } from "@ai-sdk/provider";
import { type Clock, sleep } from "../ports/clock.ts";
import { ModelFault } from "../ports/model.ts";
import { clip, oneLine } from "../text.ts";
import type { ProviderSettings } from "./resolve-provider.ts";
import { silentPort } from "./to-model-fault.ts";

/** Loads a provider's client on demand: clients are slow to load, and most commands need none. */
export async function loadLanguageModel(
  settings: ProviderSettings,
  modelId: string,
  fetch: typeof globalThis.fetch,
): Promise<LanguageModelV4> {
  const { provider: name, baseUrl: baseURL } = settings;
  const headers = { ...settings.headers };
  // Always set: without it a client would send a key from the environment to this address.
  const apiKey = settings.apiKey ?? "none";
  switch (settings.kind) {
    case "anthropic": {
      const { createAnthropic } = await import("@ai-sdk/anthropic");
      return createAnthropic({ apiKey, baseURL, headers, fetch })(modelId);
    }
    case "google": {
      const { createGoogle } = await import("@ai-sdk/google");
      return createGoogle({ apiKey, baseURL, headers, fetch })(modelId);
    }
    case "openai": {
      const { createOpenAI } = await import("@ai-sdk/openai");
      return createOpenAI({ apiKey, baseURL, headers, fetch }).responses(modelId);
    }
    case "openai-chat": {
      const { createOpenAI } = await import("@ai-sdk/openai");
      return createOpenAI({ apiKey, baseURL, headers, fetch }).chat(modelId);
    }
    case "openai-compatible": {
      const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
      return createOpenAICompatible({
        ...{ name, apiKey, baseURL, headers, fetch },
        includeUsage: true,
      })(modelId);
    }
    default:
      return settings.kind satisfies never;
  }
}

/** In bytes; more than the event stream of any model's longest answer. */
const longestAnswer = 64 * 1024 * 1024;

/**
 * The fetch of all provider clients. It bounds the size of every answer while it arrives, and follows
 * no redirect: key and conversation are for the configured address alone.
 */
export function createProviderFetch(clock: Clock): typeof fetch {
  return async (input, init) =>
    bounded(input, await reach(input, { ...init, redirect: "manual" }, clock));
}

async function bounded(input: Parameters<typeof fetch>[0], response: Response): Promise<Response> {
  const { body, headers, status, statusText } = response;
  if (status >= 300 && status < 400) {
    await body?.cancel();
    throw new ModelFault("wrong-address", describeRedirect(input, status, headers.get("location")));
  }
  // A gateway's page with a status of 500 and more says that the provider is down.
  if (status < 500 && /html/i.test(headers.get("content-type") ?? "")) {
    throw new ModelFault("wrong-address", await describePage(input, response));
  }
  if (body === null) return response;
  let bytes = 0;
  const counted = body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        bytes += chunk.byteLength;
        if (bytes > longestAnswer) controller.error(tooLong());
        else controller.enqueue(chunk);
      },
    }),
  );
  return new Response(counted, { status, statusText, headers });
}

const startingMs = 500;

/** Retries once after a refused local connection: the server may just be starting. */
async function reach(
  input: Parameters<typeof fetch>[0],
  init: NonNullable<Parameters<typeof fetch>[1]>,
  clock: Clock,
): Promise<Response> {
  try {
    return await fetch(input, init);
  } catch (error) {
    if (silentPort(error) === undefined) throw error;
    await sleep(clock, startingMs, init.signal ?? undefined);
    return fetch(input, init);
  }
}

function tooLong(): ModelFault {
  const megabytes = longestAnswer / 1024 / 1024;
  return new ModelFault("connection", `The provider sent more than ${megabytes} MB in one answer.`);
}

function describeRedirect(
  input: Parameters<typeof fetch>[0],
  status: number,
  location: string | null,
): string {
  const from = originOf(addressOf(input));
  const to = location === null ? null : originOf(location, from ?? undefined);
  const where = to === null ? "an address that cannot be read" : to;
  return `${from ?? "The provider"} sends elsewhere (${status}), to ${where}, and is not followed: the key is for the configured address alone.`;
}

/** A login page, a proxy's refusal, the page of another program. */
async function describePage(
  input: Parameters<typeof fetch>[0],
  response: Response,
): Promise<string> {
  const from = originOf(addressOf(input)) ?? "The provider";
  const page = await beginningOf(response).catch(() => "");
  const title = oneLine(/<title[^>]*>(?<title>[^<]{1,200})/i.exec(page)?.groups?.["title"] ?? "");
  const named = title === "" ? "" : ` “${clip(title, 80)}”`;
  return `${from} answered with a web page${named} (${response.status}), which is no answer of a model.`;
}

const longestBeginning = 8 * 1024;

async function beginningOf({ body }: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > longestBeginning) break;
  }
  return text;
}

function addressOf(input: Parameters<typeof fetch>[0]): string {
  return input instanceof Request ? input.url : String(input);
}

/** The origin of an address, without path and query, which can hold anything. */
function originOf(url: string, base?: string): string | null {
  return URL.canParse(url, base) ? new URL(url, base).origin : null;
}
