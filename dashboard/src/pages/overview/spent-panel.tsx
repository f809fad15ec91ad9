import { formatCost, formatTokens } from "../../../../src/surfaces/cli/amounts.ts";
import type { Operations } from "../../../../src/surfaces/client/mandate-client.ts";
import { Money, Tokens } from "../../components/amounts.tsx";
import { LimitLines } from "../../components/limit-lines.tsx";
import { Panel } from "./panel.tsx";

type Spent = Operations["getOverview"]["reply"]["spent"];

const dayMs = 86_400_000;
const shownDays = 7;
const [width, height] = [280, 56];

/** What was spent today, and the days before it as bars; the table says the same in figures. */
export function SpentPanel({ spent }: { readonly spent: Spent }) {
  const days = lastDays(spent, Date.now());
  const today = days.at(-1);
  const isMoney = days.some(({ cost }) => cost > 0);
  const amounts = days.map(({ cost, tokens }) => (isMoney ? cost : tokens));
  const greatest = Math.max(...amounts);
  const step = width / shownDays;
  return (
    <Panel title="Spent today" to="/costs" all="All costs">
      <div className="flex flex-wrap items-end gap-x-6 gap-y-2 px-4">
        <p>
          <span className="text-xl font-semibold">
            <Money dollars={today?.cost ?? 0} estimated={today?.estimated} />
          </span>
          <span className="ml-2 text-soft">
            <Tokens tokens={today?.tokens ?? 0} estimated={today?.estimated} /> tokens
          </span>
        </p>
        <figure className="min-w-40 flex-1">
          <svg
            viewBox={`0 0 ${width} ${height}`}
            preserveAspectRatio="none"
            className="h-14 w-full max-w-xs text-accent"
            aria-hidden="true"
          >
            <path d={`M0 ${height - 0.5}H${width}`} stroke="var(--line)" />
            {days.map(({ day }, index) => {
              const share = greatest === 0 ? 0 : (amounts[index] ?? 0) / greatest;
              const tall = share === 0 ? 0 : Math.max(share * (height - 4), 1.5);
              return (
                <rect
                  key={day}
                  x={index * step + step * 0.15}
                  y={height - tall}
                  width={step * 0.7}
                  height={tall}
                  rx="1.5"
                  fill={index === days.length - 1 ? "currentColor" : "var(--edge)"}
                />
              );
            })}
          </svg>
          <figcaption className="sr-only">
            The last seven days:{" "}
            {days
              .map(({ cost, day, tokens }) =>
                isMoney ? `${day} ${formatCost(cost)}` : `${day} ${formatTokens(tokens)} tokens`,
              )
              .join(", ")}
          </figcaption>
        </figure>
      </div>
      <LimitLines hasHint />
      <p className="px-4 pt-1 text-xs text-soft">
        Days in UTC.{!spent.isComplete && " Some older runs are not counted."}
      </p>
    </Panel>
  );
}

/** The costs of the last days, those without any cost included. */
function lastDays({ days }: Spent, now: number): readonly Spent["days"][number][] {
  const known = new Map(days.map((day) => [day.day, day]));
  return Array.from({ length: shownDays }, (_, index) => {
    const day = new Date(now - (shownDays - 1 - index) * dayMs).toISOString().slice(0, 10);
    return known.get(day) ?? { day, tokens: 0, cost: 0 };
  });
}
