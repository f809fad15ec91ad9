import { formatCost, formatTokens } from "../../../../src/surfaces/cli/amounts.ts";
import { amountOf, type CostLine, everyDay, type Measure, sharesOf } from "./cost-bars.ts";

const [width, height] = [720, 120];

/** A bar for each day; the table below says the same in numbers. */
export function DayChart({
  lines,
  measure,
}: {
  readonly lines: readonly CostLine[];
  readonly measure: Measure;
}) {
  const days = everyDay(lines);
  if (days.length < 2) return null;
  const shares = sharesOf(days, measure);
  const step = width / days.length;
  const greatest = Math.max(...days.map((day) => amountOf(day, measure)));
  const told = measure === "cost" ? formatCost(greatest) : `${formatTokens(greatest)} tokens`;
  return (
    <figure className="shrink-0 px-4 pt-3">
      <svg
        viewBox={`0 0 ${width} ${height}`}
        preserveAspectRatio="none"
        className="h-28 w-full text-accent"
        role="img"
        aria-label={`Bars for ${days.length} days; the highest is ${told}`}
      >
        <path d={`M0 ${height - 0.5}H${width}`} stroke="var(--line)" />
        {days.map(({ key }, index) => {
          const tall = (shares[index] ?? 0) * (height - 4);
          const wide = Math.min(step * 0.7, 28);
          return (
            <rect
              key={key}
              x={index * step + (step - wide) / 2}
              y={height - tall}
              width={wide}
              height={tall}
              rx="1.5"
              fill="currentColor"
            >
              <title>{key}</title>
            </rect>
          );
        })}
      </svg>
      <figcaption className="flex justify-between text-xs text-soft">
        <span>{days[0]?.key}</span>
        <span>at most {told} a day</span>
        <span>{days.at(-1)?.key}</span>
      </figcaption>
    </figure>
  );
}
