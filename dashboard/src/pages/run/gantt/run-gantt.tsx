import { Button } from "../../../components/button.tsx";
import { Empty } from "../../../components/empty.tsx";
import { Text } from "../../../components/text.tsx";
import { VirtualList } from "../../../components/virtual-list.tsx";
import { Link } from "../../../router/link.tsx";
import { navigate } from "../../../router/router.ts";
import type { Workflows } from "../workflow/use-workflows.ts";
import { GanttLegend, GanttPatterns } from "./bar-looks.tsx";
import { describeRow } from "./describe-row.ts";
import { GanttAxis } from "./gantt-axis.tsx";
import { GanttBars } from "./gantt-bars.tsx";
import type { Moment } from "./gantt-from.ts";
import { type GanttSource, useGantt } from "./use-gantt.ts";
import { useWidth } from "./use-width.ts";
import { useZoom } from "./use-zoom.ts";
import type { Span } from "./zoom.ts";

interface RunGanttProps extends Pick<Workflows, "nameOf"> {
  readonly feed: GanttSource;
  /** The run has not ended: the chart grows with the time. */
  readonly isOpen: boolean;
  /** Shown as it was then; null: as it is now. */
  readonly moment: Moment | null;
  readonly isNarrow: boolean;
  readonly chosen: string | null;
  readonly onChoose: (delegationId: string | null) => void;
}

const none: readonly never[] = [];

/** Who did what when: a row for each delegation, and in red what the length of the run comes from. */
export function RunGantt(props: RunGanttProps) {
  const { chosen, feed, isNarrow, isOpen, moment, nameOf, onChoose } = props;
  const gantt = useGantt(feed, moment, isOpen);
  const [box, boxWidth] = useWidth();
  const labelWidth = isNarrow ? 108 : Math.min(Math.round(boxWidth * 0.3), 240);
  const whole: Span = { from: gantt.from, to: Math.max(gantt.last, gantt.from + 10) };
  const width = Math.max(boxWidth - labelWidth - 16, 40);
  const { handlers, isZoomed, move, reset, window, zoom } = useZoom(whole, width, box, labelWidth);
  const { critical, kinds, rows } = gantt;
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <GanttPatterns />
      <div className="flex shrink-0 items-center gap-3 border-b border-line px-4 py-1.5">
        <GanttLegend kinds={kinds} />
        <div className="ml-auto flex shrink-0 gap-1" role="group" aria-label="Zoom">
          <Button
            className="h-6"
            aria-label="Farther"
            disabled={!isZoomed}
            onClick={() => zoom(1 / 1.6)}
          >
            −
          </Button>
          <Button className="h-6" aria-label="Closer" onClick={() => zoom(1.6)}>
            +
          </Button>
          <Button className="h-6" disabled={!isZoomed} onClick={reset}>
            Fit
          </Button>
        </div>
      </div>
      <div ref={box} className="flex min-h-0 min-w-0 flex-1 flex-col" {...handlers}>
        {rows.length === 0 ? (
          <Empty title="Not started">Bars appear when the first agent is made.</Empty>
        ) : (
          <VirtualList
            label="Gantt"
            isMain
            count={rows.length}
            rowHeight={26}
            keyOf={(index) => rows[index]?.id ?? ""}
            header={<GanttAxis window={window} origin={gantt.from} labelWidth={labelWidth} />}
            onOpen={(index) => {
              const id = rows[index]?.id ?? null;
              onChoose(id === chosen ? null : id);
            }}
            onRowKey={(key, index) => {
              if (key === "ArrowLeft" || key === "ArrowRight")
                move(key === "ArrowLeft" ? -0.2 : 0.2);
              else if (key === "o") navigate(`/delegations/${rows[index]?.id}`);
              else return false;
              return true;
            }}
            rowProps={(index) => ({
              "aria-selected": rows[index]?.id === chosen,
              className: rows[index]?.id === chosen ? "bg-chosen" : "",
            })}
            renderRow={(index) => {
              const row = rows[index];
              if (row === undefined) return null;
              const spans = critical.get(row.id) ?? none;
              const { about, name } = nameOf(row.id);
              return (
                <div role="presentation" className="flex h-full items-center">
                  <span
                    role="gridcell"
                    className="flex min-w-0 shrink-0 items-center gap-1.5 pr-2 pl-3"
                    style={{
                      width: labelWidth,
                      paddingLeft: 12 + Math.min(row.depth, 8) * (isNarrow ? 6 : 12),
                    }}
                  >
                    <Link
                      to={`/delegations/${row.id}`}
                      tabIndex={-1}
                      className={`truncate hover:underline ${spans.length > 0 ? "font-semibold" : ""}`}
                    >
                      <Text most={60}>{name}</Text>
                    </Link>
                    {!isNarrow && row.depth > 0 && (
                      <Text className="min-w-0 flex-1 truncate text-soft">{about}</Text>
                    )}
                  </span>
                  <span role="gridcell" className="shrink-0">
                    <span className="sr-only">{describeRow(row, gantt.to, spans.length > 0)}</span>
                    <GanttBars
                      row={row}
                      critical={spans}
                      window={window}
                      until={gantt.to}
                      isPast={moment !== null}
                    />
                  </span>
                </div>
              );
            }}
          />
        )}
      </div>
    </div>
  );
}
