import { useMemo, useRef } from "react";
import type { StoredEvent } from "../../../../../src/events/event.ts";
import { useNow } from "../../../data/use-now.ts";
import type { BarKind } from "./doing-of.ts";
import { GanttFold } from "./gantt-fold.ts";
import { type Gantt, ganttFrom, type Moment } from "./gantt-from.ts";

export interface GanttSource {
  /** The events so far. The list is never replaced: it grows. */
  readonly events: readonly StoredEvent[];
  readonly version: number;
}

/** The chart of a live run; only new events are folded. */
export function useGantt(
  feed: GanttSource,
  moment: Moment | null,
  isOpen: boolean,
): Gantt & {
  /** The last event of the whole run, whatever moment is shown. */
  readonly last: number;
  readonly kinds: ReadonlySet<BarKind>;
} {
  const kept = useRef({ events: feed.events, fold: new GanttFold(), count: 0 });
  if (kept.current.events !== feed.events) {
    kept.current = { events: feed.events, fold: new GanttFold(), count: 0 };
  }
  const { fold } = kept.current;
  for (; kept.current.count < feed.events.length; kept.current.count += 1) {
    const event = feed.events[kept.current.count];
    if (event !== undefined) fold.add(event);
  }
  const isLive = isOpen && moment === null;
  const now = useNow(isLive);
  const end = moment?.at ?? (isLive ? Math.max(now, fold.lastAt) : fold.lastAt);
  const count = moment?.count ?? kept.current.count;
  const gantt = useMemo(() => ganttFrom(fold, { at: end, count }), [fold, end, count]);
  return { ...gantt, last: Math.max(fold.lastAt, end), kinds: fold.kinds };
}
