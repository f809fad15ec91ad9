import { z } from "zod";
import { askJson } from "./ask-json.ts";
import { FetchFailure } from "./fetch-failure.ts";
import type { NamedProvider, SearchResult } from "./search-provider.ts";

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

/** One's own instance. A name and password in its address are sent as the protocol has it. */
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

/** It marks the words that were found, in HTML. */
function withoutTags(html: string): string {
  return html
    .slice(0, 10_000)
    .replaceAll(/<\/?(?:strong|b|em|i)>/g, "")
    .replaceAll(/&(#?\w{2,6});/g, (whole, name: string) =>
      Object.hasOwn(entities, name) ? (entities[name] ?? whole) : whole,
    );
}
