import { useMemo, useRef, useState } from "react";
import type { EventType } from "../../../../src/events/event.ts";
import { harmlessLine } from "../../../../src/sessions/harmless-text.ts";
import type { FollowedEvent } from "../../../../src/surfaces/client/mandate-client.ts";
import { Clock } from "../../components/amounts.tsx";
import { Button } from "../../components/button.tsx";
import { Empty } from "../../components/empty.tsx";
import { Text } from "../../components/text.tsx";
import { narrow, useMedia } from "../../components/use-media.ts";
import { VirtualList } from "../../components/virtual-list.tsx";
import { EventDetails } from "./event-details.tsx";
import { EventMark } from "./event-mark.tsx";
import type { RunView } from "./replay/use-replay.ts";
import type { Workflows } from "./workflow/use-workflows.ts";

interface TimelineProps extends Pick<Workflows, "nameOf"> {
  readonly feed: RunView;
  /** Only what is about this delegation. */
  readonly chosen: string | null;
  readonly onChoose: (delegationId: string | null) => void;
}

/** What the rows of others tell already. */
const routine: ReadonlySet<EventType> = new Set<EventType>([
  "agent.budget_reserved",
  "agent.budget_settled",
  "agent.budget_corrected",
  "agent.tool_started",
  "agent.program_called",
  "agent.subagent_started",
  "agent.subagent_completed",
]);

function isRoutine(event: FollowedEvent): boolean {
  if (event.type === "agent.subagent_attempt") return event.payload.attempt === 1;
  // The words and calls of an agent program have rows of their own, and its requests a tab.
  if (event.type === "agent.model_turn") return event.payload.request !== undefined;
  if (event.type === "agent.program_reported" && event.payload.what === "call") {
    return event.payload.outcome === "begun";
  }
  if (event.type === "agent.worktree_merged") return event.payload.strategy === "nothing";
  // The agent that a script called has events of its own.
  if (event.type === "agent.workflow_called") return event.payload.taken_from === undefined;
  if (event.type === "agent.workflow_settled") return event.payload.outcome === "value";
  return routine.has(event.type);
}

export function Timeline({ feed, chosen, nameOf, onChoose }: TimelineProps) {
  const [isWhole, setWhole] = useState(false);
  const isNarrow = useMedia(narrow);
  const [isWrapped, setWrapped] = useState(false);
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  const { version } = feed;
  // A live timeline scrolls to its end; a finished run opens at its beginning.
  const wasOpen = useRef(false);
  if (feed.isComplete && feed.state.outcome === null) wasOpen.current = true;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the version is what changes.
  const events = useMemo(
    () =>
      feed.events.filter(
        (event) =>
          (isWhole || !isRoutine(event)) && (chosen === null || event.sub_agent_id === chosen),
      ),
    [feed, version, isWhole, chosen],
  );
  const expanded = [...open]
    .map((seq) => events.findIndex((event) => event.seq === seq))
    .filter((index) => index >= 0)
    .sort((one, other) => one - other);
  const toggle = (index: number): void => {
    const seq = events[index]?.seq;
    if (seq === undefined) return;
    const next = new Set(open);
    if (!next.delete(seq)) next.add(seq);
    setOpen(next);
  };
  const whoIn = (id: string | undefined): string => (id === undefined ? "run" : nameOf(id).name);
  return (
    <>
      <div className="flex shrink-0 items-center gap-3 border-b border-line px-4 py-1.5">
        <label className="flex items-center gap-1.5 text-soft">
          <input type="checkbox" checked={isWhole} onChange={() => setWhole(!isWhole)} />
          Every event
        </label>
        <label className="flex items-center gap-1.5 text-soft">
          <input type="checkbox" checked={isWrapped} onChange={() => setWrapped(!isWrapped)} />
          Wrap lines
        </label>
        {chosen !== null && (
          <Button className="h-6 max-w-48 min-w-0" onClick={() => onChoose(null)}>
            <Text className="truncate" most={40}>{`Only ${whoIn(chosen)}`}</Text> ×
          </Button>
        )}
        <span className="ml-auto text-xs text-soft">
          {feed.isComplete
            ? `${events.length} of ${feed.events.length}`
            : `reading… ${feed.events.length}`}
        </span>
      </div>
      {feed.isComplete && events.length === 0 ? (
        <Empty title="No events yet">What agents do appears here as it happens.</Empty>
      ) : (
        <VirtualList
          label="Timeline"
          count={events.length}
          rowHeight={(isNarrow ? 50 : 30) + (isWrapped ? 40 : 0)}
          keyOf={(index) => String(events[index]?.seq)}
          followsEnd={wasOpen.current}
          expanded={expanded}
          onOpen={toggle}
          rowProps={() => ({ className: "cursor-pointer" })}
          renderRow={(index) => {
            const event = events[index];
            if (event === undefined) return null;
            const summary = harmlessLine(event.summary, 500);
            return (
              <div
                role="gridcell"
                aria-expanded={open.has(event.seq)}
                className="grid h-full grid-cols-[1rem_minmax(0,1fr)_auto] content-center items-center gap-x-2 px-4 sm:grid-cols-[1rem_3.5rem_minmax(0,8rem)_minmax(0,1fr)]"
                title={summary}
              >
                <EventMark event={event} />
                <span className="text-xs text-soft max-sm:order-3">
                  <Clock at={event.at} />
                </span>
                <Text className="truncate text-soft max-sm:order-2 max-sm:text-xs">
                  {whoIn(event.sub_agent_id)}
                </Text>
                <Text
                  className={`max-sm:order-4 max-sm:col-span-2 max-sm:col-start-2 ${isWrapped ? "line-clamp-3 wrap-anywhere" : "truncate"}`}
                >
                  {summary}
                </Text>
              </div>
            );
          }}
          renderDetails={(index) => {
            const event = events[index];
            return event && <EventDetails event={event} />;
          }}
        />
      )}
    </>
  );
}
