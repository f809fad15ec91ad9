import { harmlessLine } from "../../../../../src/sessions/harmless-text.ts";
import { formatSpan } from "../../../../../src/surfaces/cli/amounts.ts";
import { barLooks } from "./bar-looks.tsx";
import type { CriticalSpan } from "./critical-path.ts";
import { type DrawnBar, drawnBars, placeOf, type TimeWindow } from "./drawn-bars.ts";
import type { GanttRow } from "./gantt-fold.ts";

interface GanttBarsProps {
  readonly row: GanttRow;
  readonly critical: readonly CriticalSpan[];
  readonly window: TimeWindow;
  readonly until: number;
  /** A moment of the past is shown, and marked. */
  readonly isPast: boolean;
}

const height = 26;
const middle = 11;

/** The bars of one delegation. The row says the same in words. */
export function GanttBars({ row, critical, window, until, isPast }: GanttBarsProps) {
  const bars = drawnBars(row.bars, window, until);
  return (
    <svg width={window.width} height={height} className="block" aria-hidden="true">
      {bars.map(({ bar, kind, width, x }) => (
        <rect
          key={`${bar.from} ${kind}`}
          x={x}
          y={middle - barLooks[kind].height / 2}
          width={width}
          height={barLooks[kind].height}
          rx={width > 4 ? 2 : 0}
          style={{ fill: barLooks[kind].fill }}
        >
          {width > 3 && <title>{titleOf({ bar, kind, width, x }, until)}</title>}
        </rect>
      ))}
      {critical.map(({ from, to }) => {
        const x = Math.max(placeOf(from, window), 0);
        const right = Math.min(placeOf(Math.min(to, until), window), window.width);
        if (right <= x && right <= 0) return null;
        return (
          <rect
            key={from}
            x={x}
            y={height - 5}
            width={Math.max(right - x, 1)}
            height={2.5}
            style={{ fill: "var(--bad)" }}
          />
        );
      })}
      {isPast && (
        <rect
          x={placeOf(until, window)}
          width={1}
          height={height}
          style={{ fill: "var(--accent)" }}
        />
      )}
    </svg>
  );
}

function titleOf({ bar, kind }: DrawnBar, until: number): string {
  const length = formatSpan((bar.to ?? until) - bar.from);
  const detail = bar.detail === null ? "" : ` (${harmlessLine(bar.detail, 80)})`;
  return `${barLooks[kind].word}${detail}, ${length}`;
}
