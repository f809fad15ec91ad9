import { harmlessLine } from "../../../../src/sessions/harmless-text.ts";
import { Duration, Money, Time, Tokens } from "../../components/amounts.tsx";
import { type ShownState, StateBadge } from "../../components/state-badge.tsx";
import { Text } from "../../components/text.tsx";
import type { RunRow } from "../../data/run-list.ts";
import { Link } from "../../router/link.tsx";
import { type FilterName, setWords } from "./run-filters.tsx";

const columns =
  "grid grid-cols-[6.5rem_minmax(0,1fr)_7rem_4.5rem_4.5rem_5.5rem] items-center gap-x-3 px-4 lg:grid-cols-[6.5rem_minmax(0,1fr)_7rem_6.5rem_6rem_5rem_4.5rem_4.5rem_5.5rem] 2xl:grid-cols-[6.5rem_minmax(0,1fr)_9rem_9rem_8rem_7rem_4rem_4.5rem_4.5rem_4.5rem_5.5rem]";
/** Columns that are left out where there is little room. */
const wideOnly = "max-lg:hidden";
const widestOnly = "max-2xl:hidden";

export function ColumnTitles() {
  const titles = [
    { title: "State" },
    { title: "Task" },
    { title: "Agent" },
    { title: "Model", look: wideOnly },
    { title: "Folder", look: wideOnly },
    { title: "Started by", look: wideOnly },
    { title: "Agents", look: `text-right ${widestOnly}` },
    { title: "Tokens", look: `text-right ${widestOnly}` },
    { title: "Cost", look: "text-right" },
    { title: "Time", look: "text-right" },
    { title: "Started", look: "text-right" },
  ];
  return (
    <div role="row" className={`${columns} h-7`}>
      {titles.map(({ title, look }) => (
        <span key={title} role="columnheader" className={look}>
          {title}
        </span>
      ))}
    </div>
  );
}

interface RowProps {
  readonly row: RunRow;
  readonly state: ShownState;
}

export function WideRow({ row, state }: RowProps) {
  const number = "text-right text-soft";
  return (
    <div role="presentation" className={`${columns} h-full`}>
      <span role="gridcell" className="min-w-0">
        <StateBadge state={state} />
      </span>
      <span role="gridcell" className="flex min-w-0 items-baseline gap-2">
        <TaskLink row={row} />
        <span className="shrink-0 font-mono text-xs text-soft max-xl:hidden">{row.runId}</span>
      </span>
      <FilterCell name="profile" value={row.profile} />
      <FilterCell name="model" value={row.model} shown={row.model?.split("/").at(-1)} isWide />
      <FilterCell
        name="workspace"
        value={row.workspace}
        shown={row.workspace?.split(/[\\/]/).findLast((part) => part !== "")}
        isWide
      />
      <FilterCell name="startedBy" value={row.startedBy} isWide />
      <span role="gridcell" className={`${number} ${widestOnly}`}>
        {row.delegations}
      </span>
      <span role="gridcell" className={`${number} ${widestOnly}`}>
        <Tokens tokens={row.tokens} estimated={row.estimated} />
      </span>
      <span role="gridcell" className={number}>
        <Money dollars={row.cost} estimated={row.estimated} />
      </span>
      <span role="gridcell" className={number}>
        {row.state === "interrupted" ? "–" : <Duration from={row.startedAt} to={row.finishedAt} />}
      </span>
      <span role="gridcell" className={number}>
        <Time at={row.startedAt} />
      </span>
    </div>
  );
}

interface FilterCellProps {
  readonly name: FilterName;
  readonly value: string | null;
  /** In place of the whole value, which the title has. */
  readonly shown?: string | undefined;
  readonly isWide?: boolean;
}

/** A value, which a click makes the filter. */
function FilterCell({ name, value, shown, isWide = false }: FilterCellProps) {
  return (
    <span role="gridcell" className={`flex min-w-0 ${isWide ? wideOnly : ""}`}>
      {value !== null && (
        <button
          type="button"
          tabIndex={-1}
          className="min-w-0 truncate text-left text-soft hover:text-ink hover:underline"
          title={`Only ${harmlessLine(value, 300)}`}
          onClick={() => setWords({ [name]: value })}
        >
          <Text most={200}>{shown ?? value}</Text>
        </button>
      )}
    </span>
  );
}

export function NarrowRow({ row, state }: RowProps) {
  return (
    <div role="gridcell" className="flex h-full flex-col justify-center px-4">
      <span className="flex min-w-0 items-center gap-2">
        <span className="flex shrink-0">
          <StateBadge state={state} isShort />
        </span>
        <TaskLink row={row} />
      </span>
      <span className="flex gap-3 pl-6 text-xs text-soft">
        {row.profile !== null && <Text className="max-w-24 truncate">{row.profile}</Text>}
        <Money dollars={row.cost} estimated={row.estimated} />
        <span>
          <Tokens tokens={row.tokens} estimated={row.estimated} /> tokens
        </span>
        {row.state !== "interrupted" && <Duration from={row.startedAt} to={row.finishedAt} />}
        <span className="ml-auto">
          <Time at={row.startedAt} />
        </span>
      </span>
    </div>
  );
}

function TaskLink({ row }: { readonly row: RunRow }) {
  return (
    <Link to={`/runs/${row.runId}`} tabIndex={-1} className="min-w-0 truncate hover:underline">
      <Text>{row.title}</Text>
    </Link>
  );
}
