import { atMost, atMostCost, type Exactness } from "../../../src/events/spent.ts";
import {
  formatAge,
  formatCost,
  formatElapsed,
  formatSpan,
  formatTokens,
} from "../../../src/surfaces/cli/amounts.ts";
import { useNow } from "../data/use-now.ts";

export function Money({ dollars, ...mark }: { readonly dollars: number } & Exactness) {
  const exact = `$${dollars.toFixed(6)}`;
  const text = atMostCost(formatCost(dollars), { cost: dollars, ...mark });
  return <span title={dollars > 0 ? titleOf(exact, mark) : exact}>{text}</span>;
}

export function Tokens({ tokens, ...mark }: { readonly tokens: number } & Exactness) {
  const exact = `${tokens.toLocaleString("en")} tokens`;
  return <span title={titleOf(exact, mark)}>{atMost(formatTokens(tokens), mark)}</span>;
}

function titleOf(exact: string, mark: Exactness): string {
  if (mark.unmetered) return `${exact}, without what an agent program spent with its own login`;
  return mark.estimated ? `${atMost(exact, mark)}: part of it is an estimate` : exact;
}

interface TokensBarProps extends Exactness {
  readonly used: number;
  /** Null: unknown. */
  readonly of: number | null;
}

/** How much of a budget is used: a number and a bar, which warns near the end. */
export function TokensBar({ used, of, ...mark }: TokensBarProps) {
  if (of === null || of === 0) return <Tokens tokens={used} {...mark} />;
  const share = Math.min(used / of, 1);
  const tone = share >= 1 ? "bg-bad" : share >= 0.8 ? "bg-warn" : "bg-busy";
  const over = used > of ? `, over the cap by ${(used - of).toLocaleString("en")}` : "";
  const sum = `${used.toLocaleString("en")} of ${of.toLocaleString("en")} tokens used${over}`;
  const words = titleOf(sum, mark);
  return (
    <span className="inline-flex items-center gap-2" title={words}>
      <span
        className="h-1.5 w-14 shrink-0 overflow-hidden rounded-full bg-line"
        role="img"
        aria-label={words}
      >
        <span
          className={`block h-full rounded-full ${tone}`}
          style={{ width: `${used > 0 ? Math.max(share * 100, 4) : 0}%` }}
        />
      </span>
      <span aria-hidden="true">
        {atMost(formatTokens(used), mark)}
        <span className="text-soft">/{formatTokens(of)}</span>
      </span>
    </span>
  );
}

interface DurationProps {
  readonly from: number;
  /** Null: it still runs, and so does the clock. */
  readonly to: number | null;
}

const preciseMs = 10_000;

export function Duration({ from, to }: DurationProps) {
  const now = useNow(to === null);
  // What is over and was short deserves more than a zero.
  if (to !== null && to - from < preciseMs) return <span>{formatSpan(to - from)}</span>;
  return <span>{formatElapsed((to ?? Math.max(now, from)) - from)}</span>;
}

/** How long ago something was; the exact time when one points at it. */
export function Time({ at }: { readonly at: number }) {
  const now = useNow(true);
  const date = new Date(at);
  return (
    <time dateTime={date.toISOString()} title={date.toLocaleString()}>
      {formatAge(Math.max(now - at, 0))}
    </time>
  );
}

/** The time of day, for lists of what happened. */
export function Clock({ at }: { readonly at: number }) {
  const date = new Date(at);
  const two = (part: number): string => String(part).padStart(2, "0");
  const text = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(":");
  return (
    <time dateTime={date.toISOString()} title={date.toLocaleString()}>
      {text}
    </time>
  );
}
