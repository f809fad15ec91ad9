import type { InboxItem } from "../../events/inbox-item.ts";
import type { Inbox } from "../../sessions/inbox/inbox.ts";

/** `news`: what waits for an answer, and what was not seen. */
export type InboxView = "news" | "all" | "unread" | "open";

/** What is shown of an inbox at once. */
export interface InboxPage {
  readonly items: readonly InboxItem[];
  /** Up to where the reader had seen it. */
  readonly seen: number;
  readonly unread: number;
  /** Up to where it will have, because nothing is left out before that. */
  readonly through: number;
}

export async function readInboxPage(
  inbox: Inbox,
  view: InboxView,
  limit: number,
): Promise<InboxPage> {
  const seen = await inbox.seen();
  const unread = await inbox.unreadCount();
  const page = (items: readonly InboxItem[], through: number): InboxPage => {
    return { items, seen, unread, through };
  };
  if (view === "open") return page(await inbox.open({ limit }), seen);
  if (view === "all") {
    const items = await inbox.read({ limit });
    const shown = items.filter(({ id }) => id > seen).length;
    return page(items, shown < unread ? seen : lastOf(items, seen));
  }
  const news = await inbox.unread({ limit });
  const through = lastOf(news, seen);
  if (view === "unread") return page(news, through);
  const open = (await inbox.open({ limit })).filter(({ id }) => id <= seen || id > through);
  return page(
    [...open, ...news].sort((left, right) => left.id - right.id),
    through,
  );
}

function lastOf(items: readonly InboxItem[], otherwise: number): number {
  return items.at(-1)?.id ?? otherwise;
}
