import { type InboxKind, touchesInbox } from "../../../../src/events/inbox-item.ts";
import type { Operations } from "../../../../src/surfaces/client/mandate-client.ts";
import { client } from "../../data/client.ts";
import type { ListPages } from "../../data/merge-first-page.ts";
import { queryClient } from "../../data/query-client.ts";
import { type LiveList, useLiveList } from "../../data/use-live-list.ts";
import type { ShownItem } from "./inbox-item.ts";

type InboxPage = Operations["listInbox"]["reply"];

export interface Inbox extends LiveList<ShownItem, InboxPage> {
  /** This person has seen everything up to this item. */
  readonly seen: number;
  markRead(upTo: number): Promise<void>;
}

const pageSize = 100;

/** What people should know, the latest first. */
export function useInbox(kind: InboxKind | "all"): Inbox {
  const list = useLiveList<ShownItem, InboxPage>({
    key: ["inbox", kind],
    load: (cursor, signal) =>
      client.listInbox(
        { kinds: kind === "all" ? undefined : [kind], cursor, limit: pageSize },
        { signal },
      ),
    changedBy: ({ type }) => touchesInbox(type),
    idOf: ({ id }) => id,
    placeOf: ({ id }) => id,
  });
  return {
    ...list,
    seen: list.pages[0]?.seen ?? Number.MAX_SAFE_INTEGER,
    async markRead(upTo) {
      const { seen } = await client.markInboxRead({ upTo });
      queryClient.setQueriesData<ListPages<ShownItem, InboxPage>>(
        { queryKey: ["inbox"] },
        (now) => now && { ...now, pages: now.pages.map((page) => ({ ...page, seen })) },
      );
    },
  };
}
