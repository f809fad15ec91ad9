import type { Operations } from "../../../../../src/surfaces/client/mandate-client.ts";
import { client } from "../../../data/client.ts";
import { type LivePages, useLivePages } from "../../../data/use-live-list.ts";
import { firstStalePage } from "./message-pages.ts";

type MessagePage = Operations["listMessages"]["reply"];

const perPage = 100;

/** What was said, the oldest first; pages that can have changed are read again when something happens. */
export function useTranscript(delegationId: string): LivePages<MessagePage> {
  const load = (cursor: string | undefined, signal?: AbortSignal): Promise<MessagePage> =>
    client.listMessages({ delegationId, limit: perPage, cursor }, { signal });
  return useLivePages({
    key: ["transcript", delegationId],
    load,
    changedBy: (event) => event.sub_agent_id === delegationId,
    async reread(pages) {
      const fresh = pages.slice(0, firstStalePage(pages));
      while (fresh.length < Math.max(pages.length, 1)) {
        const last = fresh.at(-1);
        if (last?.nextCursor === null) break;
        fresh.push(await load(last?.nextCursor ?? undefined));
      }
      return (now) => {
        const all = [...fresh, ...now.pages.slice(pages.length)];
        const pageParams = all.map((_, index) => all[index - 1]?.nextCursor ?? undefined);
        return { pages: all, pageParams };
      };
    },
  });
}
