import { MandateClient } from "../../../src/surfaces/client/mandate-client.ts";

type Listener = (request: StreamNews) => void;

/** What became of the request for the stream of all events. */
export type StreamNews = "asked" | "opened";

const listeners = new Set<Listener>();

/** The client reconnects by itself; the banner wants to know when it does. */
export function onStreamNews(listener: Listener): void {
  listeners.add(listener);
}

function tell(news: StreamNews): void {
  for (const listener of listeners) listener(news);
}

async function watchedFetch(...given: Parameters<typeof fetch>): Promise<Response> {
  const [address] = given;
  const isStream = /\/api\/v1\/events(?:\?|$)/.test(String(address));
  if (isStream) tell("asked");
  const response = await fetch(...given);
  if (isStream && response.ok) tell("opened");
  return response;
}

/** The API of the server that this page came from. */
export const client = new MandateClient({ url: location.origin, fetch: watchedFetch });
