import { type InboxItem, isInboxType } from "../../events/inbox-item.ts";
import { type Clock, systemClock } from "../../ports/clock.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { InboxStore, Store } from "../../ports/store.ts";

const pageSize = 200;
/** After a database that could not be read. */
const againMs = 1000;

/**
 * Calls back with every item that comes from now on, in order and once, whichever process it came
 * from. Gives what ends that. Events only say that it is time to look: what is reported is what is
 * stored, so no listener gets an item that cannot be read.
 */
export function followInbox(
  store: Pick<InboxStore, "readInbox"> & Pick<Store, "subscribe">,
  listener: (item: InboxItem) => void,
  clock: Clock = systemClock,
): () => void {
  let position: number | undefined;
  let isNews = false;
  let isTelling = false;
  let isWanted = true;

  async function tellAll(): Promise<void> {
    // Events may be heard of in the middle of a transaction; after this it is over.
    await undefined;
    while (isWanted && isNews) {
      isNews = false;
      const items = await store.readInbox({ after: position ?? 0, limit: pageSize });
      for (const item of items) {
        if (!isWanted) return;
        position = item.id;
        tell(item);
      }
      if (items.length === pageSize) isNews = true;
    }
    // In the same step in which it was seen that there is no more: no listener can be missed between.
    isTelling = false;
  }

  function tell(item: InboxItem): void {
    try {
      listener(item);
    } catch (error) {
      // A listener failed; the rest of the items are delivered all the same.
      process.emitWarning(error instanceof Error ? error : String(error));
    }
  }

  const unsubscribe = store.subscribe((events) => {
    const first = events.find(({ type }) => isInboxType(type));
    if (first === undefined) return;
    position ??= first.seq - 1;
    isNews = true;
    if (isTelling) return;
    isTelling = true;
    lookAgain();
  });

  function lookAgain(): void {
    tellAll().catch((error: unknown) => {
      // The store was closed: no more items will come.
      if (!isWanted || (error instanceof MandateError && error.code === "closed")) return;
      // What could not be read is still there, after the last item that was told.
      isNews = true;
      clock.after(againMs, lookAgain).unref();
    });
  }

  return () => {
    isWanted = false;
    unsubscribe();
  };
}
