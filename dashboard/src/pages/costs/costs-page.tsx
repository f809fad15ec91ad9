import { Money, Tokens } from "../../components/amounts.tsx";
import { CommandLine } from "../../components/command-line.tsx";
import { Empty } from "../../components/empty.tsx";
import { LimitLines } from "../../components/limit-lines.tsx";
import { Problem } from "../../components/problem.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Text } from "../../components/text.tsx";
import { client } from "../../data/client.ts";
import { useLiveQuery } from "../../data/use-live-query.ts";
import { Link } from "../../router/link.tsx";
import { useQueryWord } from "../../router/router.ts";
import { Choice } from "./choice.tsx";
import {
  type CostLine,
  type CostReport,
  type Measure,
  nameOfKey,
  sharesOf,
  usualMeasure,
} from "./cost-bars.ts";
import { DayChart } from "./day-chart.tsx";

const groups = {
  ...{ day: "Day", profile: "Agent", model: "Model", workspace: "Folder", person: "Person" },
  run: "Run",
} as const;
const spans = { "7": "7 days", "30": "30 days", all: "All" } as const;
const measures = { cost: "Money", tokens: "Tokens" } as const;
const dayMs = 86_400_000;
const mostLines = 200;

export function CostsPage() {
  const [byWord, setBy] = useQueryWord("by", "day");
  const by = Object.hasOwn(groups, byWord) ? (byWord as keyof typeof groups) : "day";
  const [span, setSpan] = useQueryWord("since", "30");
  const [wanted, setMeasure] = useQueryWord("measure", "");
  const {
    data: value,
    error,
    refetch,
  } = useLiveQuery({
    key: ["costs", by, span],
    load: (signal) =>
      client.getCosts(
        { by, limit: mostLines, since: sinceOf(span), daily: by !== "day" && by !== "run" },
        { signal },
      ),
    changedBy: ({ type }) => type === "run.finished",
  });
  const measure: Measure =
    wanted === "cost" || wanted === "tokens" ? wanted : value ? usualMeasure(value) : "cost";
  return (
    <>
      <h1 className="sr-only">Costs</h1>
      <div className="flex shrink-0 flex-wrap items-center gap-2 border-b border-line px-4 py-1.5">
        <Choice label="Group by" options={groups} chosen={by} onChoose={setBy} />
        <Choice label="Time range" options={spans} chosen={span} onChoose={setSpan} />
        <Choice label="Measure" options={measures} chosen={measure} onChoose={setMeasure} />
      </div>
      {error !== null && <Problem error={error} onRetry={refetch} />}
      {value?.items.length === 0 && (
        <Empty title="Nothing was spent">
          <p>
            Every request to a model costs tokens, and money where the model has a price. This page
            adds them up by day, agent, model, folder and person. Start a run to see some:
          </p>
          <p className="mt-2">
            <CommandLine>mandate run "Summarize the README"</CommandLine>
          </p>
        </Empty>
      )}
      {value !== undefined && value.items.length > 0 && (
        <div className="min-h-0 flex-1 overflow-auto pb-6">
          <Totals report={value} />
          <LimitLines only="dollarsPerDay" />
          {by !== "run" && <DayChart report={value} measure={measure} />}
          <CostTable report={value} by={by} measure={measure} />
        </div>
      )}
    </>
  );
}

function sinceOf(span: string): number | undefined {
  const days = Number(span);
  if (!Number.isInteger(days) || days < 1 || days > 10_000) return undefined;
  // The beginning of a day, so that looking again asks for the same.
  return (Math.floor(Date.now() / dayMs) - days + 1) * dayMs;
}

function Totals({ report: { isComplete, runs, total } }: { readonly report: CostReport }) {
  return (
    <div className="flex flex-wrap gap-x-8 gap-y-2 px-4 pt-4">
      <dl className="flex flex-wrap gap-x-8 gap-y-2">
        {[
          { name: "Cost", amount: <Money dollars={total.cost} estimated={total.estimated} /> },
          { name: "Prompt", amount: <Tokens tokens={total.prompt} estimated={total.estimated} /> },
          {
            name: "Completion",
            amount: <Tokens tokens={total.completion} estimated={total.estimated} />,
          },
          { name: isComplete ? "Runs" : "Runs (the newest)", amount: runs },
        ].map(({ amount, name }) => (
          <div key={name} className="flex flex-col-reverse">
            <dt className="text-xs text-soft">{name}</dt>
            <dd className="text-lg font-semibold">{amount}</dd>
          </div>
        ))}
      </dl>
      {total.cost === 0 && (
        <p className="self-end text-xs text-soft">
          A model without a known price costs $0 here. Set prices under{" "}
          <code className="font-mono">models.prices</code>.
        </p>
      )}
    </div>
  );
}

interface CostTableProps {
  readonly report: CostReport;
  readonly by: keyof typeof groups;
  readonly measure: Measure;
}

function CostTable({ report, by, measure }: CostTableProps) {
  const shares = sharesOf(report.items, measure);
  const rows = report.items.map((line, index) => ({ ...line, share: shares[index] ?? 0 }));
  const columns: readonly Column<CostLine & { readonly share: number }>[] = [
    { title: groups[by], cell: ({ key }) => <Key by={by} name={key} /> },
    { title: measures[measure], cell: ({ share }) => <Bar share={share} /> },
    {
      title: "Cost",
      isNumber: true,
      cell: ({ cost, estimated }) => <Money dollars={cost} estimated={estimated} />,
    },
    {
      title: "Prompt",
      isNumber: true,
      cell: ({ prompt, estimated }) => <Tokens tokens={prompt} estimated={estimated} />,
    },
    {
      title: "Completion",
      isNumber: true,
      isSecondary: true,
      cell: ({ completion, estimated }) => <Tokens tokens={completion} estimated={estimated} />,
    },
  ];
  return (
    <div className="mt-4 border-t border-line">
      <Table
        label={`Costs by ${groups[by].toLowerCase()}`}
        columns={columns}
        rows={rows}
        keyOf={({ key }) => key}
      />
      {rows.length === mostLines && (
        <p className="px-4 py-2 text-xs text-soft">Only the first {mostLines} are shown.</p>
      )}
    </div>
  );
}

function Key({ by, name }: { readonly by: keyof typeof groups; readonly name: string }) {
  const look = "text-accent hover:underline";
  if (by === "run") {
    return (
      <Link to={`/runs/${encodeURIComponent(name)}`} className={`font-mono text-xs ${look}`}>
        <Text most={40}>{name}</Text>
      </Link>
    );
  }
  if (by === "profile") {
    return (
      <Link to={`/agents?tab=profiles&profile=${encodeURIComponent(name)}`} className={look}>
        <Text most={100}>{name}</Text>
      </Link>
    );
  }
  if ((by === "model" || by === "workspace" || by === "person") && name !== "") {
    const filter = by === "person" ? "startedBy" : by;
    return (
      <Link to={`/runs?${filter}=${encodeURIComponent(name)}`} className={look}>
        <Text most={200}>{name}</Text>
      </Link>
    );
  }
  return <Text most={200}>{nameOfKey(by, name)}</Text>;
}

function Bar({ share }: { readonly share: number }) {
  return (
    <span className="flex h-5 items-center">
      <svg
        viewBox="0 0 100 8"
        preserveAspectRatio="none"
        className="h-2 w-full min-w-16 text-accent"
        aria-hidden="true"
      >
        <rect width="100" height="8" rx="1" fill="var(--line)" />
        <rect width={share * 100} height="8" rx="1" fill="currentColor" />
      </svg>
    </span>
  );
}
