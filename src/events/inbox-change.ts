import { type Delegation, openAskOf } from "./delegation.ts";
import type { StoredEvent } from "./event.ts";
import type { InboxItem } from "./inbox-item.ts";
import { inboxItemOf } from "./inbox-item-of.ts";
import type { RunState } from "./run-state.ts";

/** What one event does to the inbox. */
export interface InboxChange {
  readonly item: InboxItem | undefined;
  /** The ask that waits for no answer from now on. */
  readonly closes: string | undefined;
}

/**
 * What an event does to the inbox, from the delegation as it was `before` the event and the run as
 * it is after it. The inbox is the fold of this over the log; stores keep it so that reading it is
 * not reading the log.
 */
export function inboxChangeOf(
  event: StoredEvent,
  run: RunState,
  before: Delegation | undefined,
): InboxChange {
  const ask = before === undefined ? null : openAskOf(before);
  const after = ask === null ? undefined : run.delegations.get(before?.id ?? "");
  const isOpen = after !== undefined && openAskOf(after)?.id === ask?.id;
  return {
    item: inboxItemOf(event, run, before),
    closes: ask === null || isOpen ? undefined : ask.id,
  };
}
