import { formatCost, formatTokens } from "../../../src/surfaces/cli/amounts.ts";
import type { Operations } from "../../../src/surfaces/client/mandate-client.ts";
import { client } from "../data/client.ts";
import { useLiveQuery } from "../data/use-live-query.ts";
import { CommandLine } from "./command-line.tsx";
import { Text } from "./text.tsx";

type Limit = Operations["listLimits"]["reply"]["limits"][number];
type Name = keyof Limit["value"];

const words: Readonly<
  Record<Name, { readonly title: string; readonly show: (amount: number) => string }>
> = {
  dollarsPerDay: { title: "Spend today", show: formatCost },
  tokensPerMinute: { title: "Tokens a minute", show: formatTokens },
  requestsPerMinute: { title: "Requests a minute", show: String },
  concurrency: { title: "Requests at a time", show: String },
};
const everyMs = 15_000;

interface LimitLinesProps {
  /** Only limits of this kind; absent: all of them. */
  readonly only?: Name;
  readonly hasHint?: boolean;
}

/** The stored limits on model requests, with what is used of each now. */
export function LimitLines({ only, hasHint = false }: LimitLinesProps) {
  const { data } = useLiveQuery({
    key: ["limits"],
    load: (signal) => client.listLimits({}, { signal }),
    changedBy: ({ type }) => type === "run.finished" || type === "control.record_changed",
    everyMs,
  });
  if (data === undefined) return null;
  const lines = data.limits.flatMap((limit) =>
    (Object.keys(words) as Name[])
      .filter((name) => limit.value[name] !== undefined && (only === undefined || only === name))
      .map((name) => ({ limit, name })),
  );
  if (lines.length === 0) {
    if (!hasHint) return null;
    return (
      <p className="px-4 pt-2 text-xs text-soft">
        No budget for a day is set. An administrator sets one with{" "}
        <CommandLine>mandate limits set tenant --dollars-per-day 20</CommandLine>
      </p>
    );
  }
  return (
    <ul className="grid gap-2 px-4 pt-2">
      {lines.map(({ limit, name }) => (
        <Line key={`${limit.scope} ${name}`} limit={limit} name={name} />
      ))}
    </ul>
  );
}

function Line({ limit, name }: { readonly limit: Limit; readonly name: Name }) {
  const { scope, setBy, used } = limit;
  const { show, title } = words[name];
  const most = limit.value[name] ?? 0;
  const now = used?.[name];
  const share = now === undefined || most === 0 ? 0 : Math.min(1, now / most);
  const tone = share >= 1 ? "text-bad" : share >= 0.8 ? "text-warn" : "text-accent";
  return (
    <li>
      <p className="flex flex-wrap gap-x-2 text-xs">
        <span>{title}</span>
        {scope !== "tenant" && (
          <span className="text-soft">
            <Text most={80}>{scope}</Text>
          </span>
        )}
        <span className={`ml-auto ${share >= 0.8 ? tone : ""}`}>
          {now === undefined ? "" : `${show(now)} of `}
          {show(most)}
        </span>
        <span className="text-soft">
          set by <Text most={40}>{setBy}</Text>
        </span>
      </p>
      <div className={`mt-1 h-1 bg-line ${tone}`} aria-hidden="true">
        <div className="h-full bg-current" style={{ width: `${share * 100}%` }} />
      </div>
    </li>
  );
}
