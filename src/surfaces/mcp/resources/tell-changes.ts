import type { Server } from "@modelcontextprotocol/server";
import type { Era } from "../client-abilities.ts";
import type { ClientSession } from "../client-session.ts";
import { followResources } from "./follow-resources.ts";

interface Listening {
  readonly era: Era;
  /** What a client of 2025-11-25 asked for. */
  readonly subscribed: ReadonlySet<string>;
}

/** Tells a client what changes, as long as it is connected. */
export function tellChanges(
  server: Server,
  session: ClientSession,
  { era, subscribed }: Listening,
): void {
  // Who is gone hears nothing; that it is gone is found out elsewhere.
  const send = (sending: Promise<void>): void => void sending.catch(() => undefined);
  const stop = followResources(session, {
    // Since 2026-07-28 the transport knows what was asked for, and passes nothing else on.
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
