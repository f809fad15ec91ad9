import { formatElapsed, formatSpan } from "../../../../../src/surfaces/cli/amounts.ts";
import { placeOf, type TimeWindow, ticksOf } from "./drawn-bars.ts";

interface GanttAxisProps {
  readonly window: TimeWindow;
  readonly origin: number;
  readonly labelWidth: number;
}

/** Times since the start of the run. */
export function GanttAxis({ window, origin, labelWidth }: GanttAxisProps) {
  const ticks = ticksOf(window, origin);
  const isFine = window.to - window.from < 20_000;
  return (
    <div role="row" className="flex h-7 items-center">
      <span role="columnheader" className="shrink-0 pl-3" style={{ width: labelWidth }}>
        Agent
      </span>
      <span
        role="columnheader"
        aria-label="Time since the start"
        className="relative h-full overflow-hidden"
        style={{ width: window.width }}
      >
        {ticks.map((time) => (
          <span
            key={time}
            className="absolute top-0 flex h-full items-center border-l border-line pl-1 font-normal whitespace-nowrap"
            style={{ left: Math.round(placeOf(time, window)) }}
          >
            {isFine ? formatSpan(time - origin) : formatElapsed(time - origin)}
          </span>
        ))}
      </span>
    </div>
  );
}
