import { formatCost, formatTokens } from "../../../../src/surfaces/cli/amounts.ts";
import { Money, Tokens } from "../../components/amounts.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Text } from "../../components/text.tsx";
import { type CostReport, type Measure, nameOfKey } from "./cost-bars.ts";
import { type DayBar, dayBars, others, seriesOf } from "./day-bars.ts";

const [width, height] = [720, 150];
/** One for each series; the last is for the sum of all further ones. */
const colours = ["var(--series-1)", "var(--series-2)", "var(--series-3)", "var(--series-4)"];
const ofOthers = "var(--edge)";

interface DayChartProps {
  readonly report: CostReport;
  readonly measure: Measure;
}

/** What each day cost, by group. The same figures are in a table, for keyboards and screen readers. */
export function DayChart({ report, measure }: DayChartProps) {
  const series = seriesOf(report, colours.length);
  const bars = dayBars(report, series, measure);
  if (bars.length === 0) return null;
  const greatest = Math.max(...bars.map(({ total }) => total));
  const step = width / bars.length;
  const wide = Math.min(step * 0.7, 28);
  const said = (amount: number): string =>
    measure === "cost" ? formatCost(amount) : `${formatTokens(amount)} tokens`;
  const colourOf = (key: string): string => colours[series.indexOf(key)] ?? ofOthers;
  return (
    <figure className="shrink-0 px-4 pt-4">
      <svg
        viewBox={`0 0 ${width} ${height}`}
        preserveAspectRatio="none"
        className="h-36 w-full"
        role="img"
        aria-label={`Spending on ${bars.length} days, at most ${said(greatest)} on a day. The figures are in the table "By day".`}
      >
        <path d={`M0 ${height - 0.5}H${width}`} stroke="var(--line)" />
        {bars.map(({ day, parts, total }, index) => {
          let top = height;
          return (
            <g key={day}>
              <title>{`${day}: ${said(total)}`}</title>
              {parts.map(({ amount, key }) => {
                const tall = greatest === 0 ? 0 : (amount / greatest) * (height - 4);
                top -= tall;
                return (
                  <rect
                    key={key}
                    x={index * step + (step - wide) / 2}
                    y={top}
                    width={wide}
                    height={tall}
                    fill={colourOf(key)}
                  />
                );
              })}
            </g>
          );
        })}
      </svg>
      <figcaption className="flex flex-wrap justify-between gap-x-4 gap-y-1 text-xs text-soft">
        <span>{bars[0]?.day}</span>
        {report.by !== "day" && (
          <ul className="flex min-w-0 flex-wrap gap-x-3">
            {[...series, others]
              .filter((key) => bars.some(({ parts }) => parts.some((part) => part.key === key)))
              .map((key) => (
                <li key={key} className="flex min-w-0 items-center gap-1.5">
                  <span
                    className="size-2.5 shrink-0 rounded-xs"
                    style={{ background: colourOf(key) }}
                    aria-hidden="true"
                  />
                  <Text className="max-w-48 truncate">
                    {key === others ? "Others" : nameOfKey(report.by, key)}
                  </Text>
                </li>
              ))}
          </ul>
        )}
        <span>{bars.at(-1)?.day}</span>
      </figcaption>
      <details className="mt-2">
        <summary className="text-xs text-accent">Show the figures of each day</summary>
        <Table
          label="By day"
          columns={dayColumns(measure, report.by)}
          rows={bars.filter(({ total }) => total > 0).toReversed()}
          keyOf={({ day }) => day}
        />
      </details>
    </figure>
  );
}

function dayColumns(measure: Measure, by: CostReport["by"]): readonly Column<DayBar>[] {
  const amount = (value: number) =>
    measure === "cost" ? <Money dollars={value} /> : <Tokens tokens={value} />;
  const columns: Column<DayBar>[] = [
    { title: "Day", isShort: true, cell: ({ day }) => day },
    { title: "Total", isNumber: true, cell: ({ total }) => amount(total) },
  ];
  if (by === "day") return columns;
  return [
    ...columns,
    {
      title: "Of this",
      cell: ({ parts }) => (
        <ul>
          {parts.map(({ amount: part, key }) => (
            <li key={key}>
              <Text most={100}>{key === others ? "Others" : nameOfKey(by, key)}</Text>:{" "}
              {amount(part)}
            </li>
          ))}
        </ul>
      ),
    },
  ];
}
