import { formatSpan } from "../../../../../src/surfaces/cli/amounts.ts";
import { Clock } from "../../../components/amounts.tsx";
import { Button } from "../../../components/button.tsx";
import type { RunFeed } from "../../../data/run-feed.ts";
import type { Moment } from "../gantt/gantt-from.ts";

interface ReplayNoticeProps {
  readonly startedAt: number;
  readonly moment: Moment;
  readonly of: Pick<RunFeed, "events">;
  readonly onNow: () => void;
}

/** Says that the page shows the past. */
export function ReplayNotice({ startedAt, moment, of, onNow }: ReplayNoticeProps) {
  return (
    <section
      aria-label="This is a replay"
      className="mt-2 flex flex-wrap items-center gap-x-3 gap-y-1 rounded-md border border-line border-l-[3px] border-l-accent bg-chosen px-3 py-1"
    >
      <strong className="font-semibold">Replay</strong>
      <span>
        as it was at <Clock at={moment.at} />, {formatSpan(moment.at - startedAt)} after the start
      </span>
      <span className="text-soft max-sm:hidden">
        event {moment.count} of {of.events.length}
      </span>
      <Button className="ml-auto" title="Back to now (Escape)" onClick={onNow}>
        Back to now
      </Button>
    </section>
  );
}
