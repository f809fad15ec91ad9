import type { FollowedEvent } from "../../../src/surfaces/client/mandate-client.ts";
import { client } from "./client.ts";

/** After so long without another stored event, it is asked whether there are more. */
const silenceMs = 250;

interface StoredEventsRequest {
  readonly runId: string;
  /** The place of the last event that was taken; read again whenever it is needed. */
  readonly lastSeq: () => number;
  readonly signal: AbortSignal;
  /** True: nothing more is wanted. */
  readonly onEvent: (event: FollowedEvent) => boolean;
}

/**
 * Gives what is stored of a run beyond a place, and ends when there is no more of it. It comes as a
 * stream, which is many times quicker than pages; a stream has no end of its own, so silence is
 * taken for one once the server has said that nothing is left.
 */
export async function readStoredEvents(request: StoredEventsRequest): Promise<void> {
  const { lastSeq, onEvent, runId } = request;
  const ending = new AbortController();
  const signal = AbortSignal.any([ending.signal, request.signal]);
  let silence: ReturnType<typeof setTimeout> | undefined;
  const waitForMore = (): void => {
    clearTimeout(silence);
    silence = setTimeout(async () => {
      // A server that has much to do is silent for a while: silence alone says nothing.
      const isMore = await isMoreStored(runId, lastSeq(), signal).catch(() => true);
      if (isMore && !signal.aborted) waitForMore();
      else ending.abort();
    }, silenceMs);
  };
  try {
    waitForMore();
    for await (const event of client.events({ runId, after: lastSeq(), signal })) {
      if (onEvent(event)) break;
      waitForMore();
    }
  } finally {
    clearTimeout(silence);
    ending.abort();
  }
}

async function isMoreStored(runId: string, after: number, signal: AbortSignal): Promise<boolean> {
  const { items } = await client.listRunEvents({ runId, after, limit: 1 }, { signal });
  return items.length > 0;
}
