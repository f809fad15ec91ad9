import { useState } from "react";
import { harmlessLine } from "../../../../src/sessions/harmless-text.ts";
import { Clock } from "../../components/amounts.tsx";
import { Text } from "../../components/text.tsx";
import { VirtualList } from "../../components/virtual-list.tsx";
import { EventDetails } from "../run/event-details.tsx";
import { EventMark } from "../run/event-mark.tsx";
import type { DelegationFeed } from "./delegation-feed.ts";

/** Everything that the log has about it, as it is stored. */
export function EventsTab({ feed }: { readonly feed: DelegationFeed }) {
  const { events } = feed;
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  const toggle = (index: number): void => {
    const next = new Set(open);
    if (!next.delete(index)) next.add(index);
    setOpen(next);
  };
  return (
    <VirtualList
      label="Events"
      kind="treegrid"
      isMain
      count={events.length}
      rowHeight={30}
      keyOf={(index) => String(events[index]?.seq)}
      expanded={[...open].sort((one, other) => one - other)}
      onOpen={toggle}
      followsEnd={feed.delegation !== undefined && feed.delegation.status !== "closed"}
      rowProps={(index) => ({ className: "cursor-pointer", "aria-expanded": open.has(index) })}
      renderRow={(index) => {
        const event = events[index];
        if (event === undefined) return null;
        const summary = harmlessLine(event.summary, 300);
        return (
          <div
            role="gridcell"
            className="grid h-full grid-cols-[1rem_3.75rem_minmax(0,11rem)_minmax(0,1fr)] items-center gap-x-2 px-4 max-sm:grid-cols-[1rem_3.75rem_minmax(0,1fr)]"
            title={summary}
          >
            <EventMark event={event} />
            <span className="text-xs text-soft">
              <Clock at={event.at} />
            </span>
            <span className="truncate font-mono text-xs text-soft max-sm:hidden">
              {event.type.replace(/^agent\./, "")}
            </span>
            <Text className="truncate">{summary}</Text>
          </div>
        );
      }}
      renderDetails={(index) => {
        const event = events[index];
        return event && <EventDetails event={event} />;
      }}
    />
  );
}
