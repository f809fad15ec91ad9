import type { Server } from "@modelcontextprotocol/server";
import type { StoredEvent } from "../../../events/event.ts";
import type { Timer } from "../../../ports/clock.ts";
import type { Era } from "../client-abilities.ts";
import type { ClientSession } from "../client-session.ts";
import { isAboutSession } from "../http/stored-sessions.ts";
import { delegationParts, delegationUri, profilesUri, runUri } from "./serve-resources.ts";

export interface ResourceListener {
  /** Whether the client wants notifications about a resource. */
  wants(uri: string, isOwnSession: boolean): boolean;
  updated(uri: string): void;
  listChanged(): void;
  /** Called when profiles or agents have changed. */
  offerChanged(): void;
}

const shortestMs = 500;

/**
 * Notifies of the client's resources when events arrive: each at most twice a second, and once
 * after the last event. Returns the function that stops it.
 */
export function followResources(
  session: Pick<ClientSession, "runtime" | "runIds">,
  listener: ResourceListener,
): () => void {
  const { clock, store } = session.runtime;
  const moved = new Set<string>();
  let isListNew = false;
  let isOfferNew = false;
  let timer: Timer | undefined;
  const tell = (): void => {
    timer = undefined;
    const uris = [...moved];
    moved.clear();
    for (const uri of uris) listener.updated(uri);
    if (isListNew) listener.listChanged();
    if (isOfferNew) listener.offerChanged();
    isListNew = false;
    isOfferNew = false;
  };
  const hear = (event: StoredEvent): void => {
    if (event.type === "control.record_changed" && !isAboutSession(event.payload.record)) {
      isOfferNew = true;
      if (listener.wants(profilesUri, false)) moved.add(profilesUri);
    }
    const isOwn = session.runIds.includes(event.run_id);
    for (const uri of urisOf(event)) if (listener.wants(uri, isOwn)) moved.add(uri);
    if (!isOwn) return;
    if (event.type === "agent.subagent_created" || event.type === "agent.subagent_closed")
      isListNew = true;
  };
  const unsubscribe = store.subscribe((events) => {
    for (const event of events) hear(event);
    if (moved.size === 0 && !isListNew && !isOfferNew) return;
    timer ??= clock.after(shortestMs, tell).unref();
  });
  return () => {
    unsubscribe();
    timer?.cancel();
  };
}

function urisOf({ run_id: runId, sub_agent_id: id }: StoredEvent): readonly string[] {
  const parts = id === undefined ? [] : delegationParts.map((part) => delegationUri(id, part));
  return [runUri(runId), ...parts];
}

interface Listening {
  readonly era: Era;
  /** The subscriptions of a client of 2025-11-25. */
  readonly subscribed: ReadonlySet<string>;
}

/** Notifies a client of changes while it is connected. */
export function tellChanges(
  server: Server,
  session: ClientSession,
  { era, subscribed }: Listening,
): void {
  // A failed send means a disconnected client, which the transport handles.
  const send = (sending: Promise<void>): void => void sending.catch(() => undefined);
  const stop = followResources(session, {
    // In 2026-07-28 the transport knows the subscriptions and filters by them.
    wants: (uri, isOwn) => subscribed.has(uri) || (era === "modern" && isOwn),
    updated: (uri) => send(server.sendResourceUpdated({ uri })),
    listChanged: () => send(server.sendResourceListChanged()),
    offerChanged() {
      send(server.sendToolListChanged());
      send(server.sendPromptListChanged());
    },
  });
  const { onclose } = server;
  server.onclose = () => {
    stop();
    onclose?.();
  };
}
