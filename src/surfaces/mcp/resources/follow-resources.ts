import type { StoredEvent } from "../../../events/event.ts";
import type { Timer } from "../../../ports/clock.ts";
import type { ClientSession } from "../client-session.ts";
import { delegationParts, delegationUri, runUri } from "./resource-uri.ts";

export interface ResourceListener {
  /** Whether somebody wants to hear of it. */
  wants(uri: string, isOwnSession: boolean): boolean;
  updated(uri: string): void;
  listChanged(): void;
  /** Profiles or agents are others now. */
  offerChanged(): void;
}

const shortestMs = 500;

/**
 * Tells of the client's resources when the log moves: each at most twice a second, and once more
 * after the last event. Gives what ends that.
 */
export function followResources(
  session: Pick<ClientSession, "runtime" | "sessions">,
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
    if (event.type === "control.record_changed") isOfferNew = true;
    const isOwn = session.sessions.some(({ runId }) => runId === event.run_id);
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
