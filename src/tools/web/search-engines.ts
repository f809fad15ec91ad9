import { z } from "zod";
import { type Clock, timeoutSignal } from "../../ports/clock.ts";
import { messageOf, systemReason } from "../../ports/message-of.ts";
import { describeRetryAfter, FetchFailure } from "../../workspaces/egress/web-address.ts";
import { hideValues } from "../mcp/clean-text.ts";

const text = z
  .string()
  .nullish()
  .transform((value) => value ?? "");

const searxngAnswer = z.object({
  results: z.array(z.object({ title: text, url: text, content: text })),
});

const braveAnswer = z.object({
  web: z
    .object({ results: z.array(z.object({ title: text, url: text, description: text })) })
    .nullish(),
});

const tavilyAnswer = searxngAnswer;

/** The operator's own instance. Credentials in its address are sent as HTTP basic authentication. */
export function searxng(base: URL): NamedProvider {
  const address = new URL(base);
  const [user, password] = [address.username, address.password].map(decodeURIComponent);
  address.username = "";
  address.password = "";
  const credentials = `${user}:${password}`;
  const headers: Readonly<Record<string, string>> =
    credentials === ":"
      ? {}
      : { authorization: `Basic ${Buffer.from(credentials).toString("base64")}` };
  const secrets = [...Object.values(headers), ...(password ? [password] : [])];
  return {
    name: "SearXNG",
    address,
    secrets,
    async search(query, { signal, clock }) {
      const url = new URL(`${address.href.replace(/\/+$/, "")}/search`);
      url.search = new URLSearchParams({ q: query, format: "json" }).toString();
      const answer = await askJson({ url, headers, secrets, signal, clock });
      const { results } = read(searxngAnswer, answer);
      return results.map(({ title, url: place, content }) => result(title, place, content));
    },
  };
}

export function brave(key: string, base = "https://api.search.brave.com"): NamedProvider {
  const address = new URL(base);
  return {
    name: "Brave",
    address,
    secrets: [key],
    async search(query, { count, signal, clock }) {
      const url = new URL("/res/v1/web/search", address);
      url.search = new URLSearchParams({ q: query, count: String(count) }).toString();
      const headers = { "x-subscription-token": key };
      const answer = await askJson({ url, headers, secrets: [key], signal, clock });
      const { web } = read(braveAnswer, answer);
      return (web?.results ?? []).map(({ title, url: place, description }) =>
        result(withoutTags(title), place, withoutTags(description)),
      );
    },
  };
}

export function tavily(key: string, base = "https://api.tavily.com"): NamedProvider {
  const address = new URL(base);
  return {
    name: "Tavily",
    address,
    secrets: [key],
    async search(query, { count, signal, clock }) {
      const url = new URL("/search", address);
      const headers = { authorization: `Bearer ${key}` };
      const body = { query, max_results: count, search_depth: "basic" };
      const answer = await askJson({ url, headers, body, secrets: [key], signal, clock });
      const { results } = read(tavilyAnswer, answer);
      return results.map(({ title, url: place, content }) => result(title, place, content));
    },
  };
}

function result(title: string, url: string, snippet: string): SearchResult {
  return { title, url, snippet };
}

function read<Answer>(schema: z.ZodType<Answer>, answer: unknown): Answer {
  const parsed = schema.safeParse(answer);
  if (parsed.success) return parsed.data;
  throw new FetchFailure("The search service answered in a form that is not its own.");
}

const entities: Readonly<Record<string, string>> = {
  ...{ amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'", "#x27": "'", nbsp: " " },
};

/** Brave marks the found words in HTML. */
function withoutTags(html: string): string {
  return html
    .slice(0, 10_000)
    .replaceAll(/<\/?(?:strong|b|em|i)>/g, "")
    .replaceAll(/&(#?\w{2,6});/g, (whole, name: string) =>
      Object.hasOwn(entities, name) ? (entities[name] ?? whole) : whole,
    );
}

interface JsonQuestion {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent as JSON, by POST; absent: GET. */
  readonly body?: unknown;
  /** Must not be seen in anything that comes of it. */
  readonly secrets: readonly string[];
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

const maxBytes = 2 * 1024 * 1024;
const timeMs = 15_000;

/** One request to the operator's search service. Redirects are not followed: keys must not leave. */
async function askJson(question: JsonQuestion): Promise<unknown> {
  const { url, body, secrets, signal, clock } = question;
  const timeout = timeoutSignal(clock, timeMs);
  try {
    const response = await fetch(url, {
      method: body === undefined ? "GET" : "POST",
      headers: {
        accept: "application/json",
        ...(body !== undefined && { "content-type": "application/json" }),
        ...question.headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      redirect: "error",
      signal: AbortSignal.any([signal, timeout]),
    });
    const text = await readText(response);
    if (response.ok) return JSON.parse(text);
    const retry = describeRetryAfter(response.headers.get("retry-after") ?? undefined, clock.now());
    throw new FetchFailure(`The search service answered ${response.status}. ${retry}`.trim());
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof FetchFailure) throw error;
    const why = timeout.aborted ? `no answer in ${timeMs / 1000} s` : whyUnanswered(error);
    // Without the cause: it can hold the request with the key.
    throw new FetchFailure(`The search service could not be asked: ${hideValues(secrets)(why)}.`);
  }
}

function whyUnanswered(error: unknown): string {
  if (error instanceof SyntaxError) return "its answer is not JSON";
  const code = (error as { cause?: { code?: unknown } } | undefined)?.cause?.code;
  return systemReason(code) ?? (typeof code === "string" ? code : messageOf(error));
}

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    length += chunk.length;
    if (length > maxBytes) throw new FetchFailure("The answer of the search service is too large.");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

export interface SearchResult {
  readonly title: string;
  readonly url: string;
  readonly snippet: string;
}

interface SearchOptions {
  readonly count: number;
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

/**
 * Asks a search engine. Results come in its order and as it sent them: the caller that shows them cleans
 * them. Rejects with a sentence that holds no key.
 */
type SearchProvider = (query: string, options: SearchOptions) => Promise<readonly SearchResult[]>;

export interface NamedProvider {
  readonly name: string;
  /** The address of the search service. */
  readonly address: URL;
  readonly search: SearchProvider;
  /** The values that no result or error may show. */
  readonly secrets: readonly string[];
}
