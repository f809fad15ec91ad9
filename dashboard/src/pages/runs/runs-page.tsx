import { useState } from "react";
import { Duration, Money, Time, Tokens } from "../../components/amounts.tsx";
import { Empty } from "../../components/empty.tsx";
import { Problem } from "../../components/problem.tsx";
import { ScriptedNotice } from "../../components/scripted-notice.tsx";
import { type ShownState, StateBadge, shownRunState } from "../../components/state-badge.tsx";
import { Text } from "../../components/text.tsx";
import { narrow, useMedia } from "../../components/use-media.ts";
import { VirtualList } from "../../components/virtual-list.tsx";
import { useAskingRuns } from "../../data/open-asks.ts";
import { type RunRow, useRunList } from "../../data/run-list.ts";
import { useMe } from "../../data/use-me.ts";
import { Link } from "../../router/link.tsx";
import { navigate, useQueryWord } from "../../router/router.ts";
import { Composer } from "./composer.tsx";

const filters = [
  { id: "all", label: "All", has: () => true },
  {
    id: "open",
    label: "Open",
    has: ({ state }: RunRow) => ["running", "interrupted"].includes(state),
  },
  { id: "failed", label: "Failed", has: ({ state }: RunRow) => state === "failed" },
  { id: "cancelled", label: "Cancelled", has: ({ state }: RunRow) => state === "cancelled" },
] as const;

const columns =
  "grid grid-cols-[7.5rem_minmax(0,1fr)_4rem_5rem_5.5rem_5rem_6.5rem] items-center gap-x-3 px-4";

export function RunsPage() {
  const [filter, setFilter] = useQueryWord("show", "all");
  const [search, setSearch] = useState("");
  const isNarrow = useMedia(narrow);
  const me = useMe();
  const { has, id: list } = filters.find(({ id }) => id === filter) ?? filters[0];
  const { error, hasMore, isLoaded, loadMore, rows } = useRunList(list);
  const asking = useAskingRuns();
  const wanted = search.trim().toLowerCase();
  const shown = rows.filter(
    (row) =>
      // Events bring every run into every list.
      has(row) && (wanted === "" || `${row.runId} ${row.title}`.toLowerCase().includes(wanted)),
  );
  return (
    <>
      <h1 className="sr-only">Runs</h1>
      <ScriptedNotice />
      {me?.role !== "viewer" && <Composer />}
      <div className="flex shrink-0 items-center gap-3 border-b border-line px-4 py-1.5">
        <fieldset className="flex rounded-md border border-line p-0.5">
          <legend className="sr-only">Which runs</legend>
          {filters.map(({ id, label }) => (
            <button
              key={id}
              type="button"
              aria-pressed={list === id}
              className="rounded-sm px-2 text-soft aria-pressed:bg-chosen aria-pressed:text-ink max-sm:py-1"
              onClick={() => setFilter(id)}
            >
              {label}
            </button>
          ))}
        </fieldset>
        <input
          type="search"
          aria-label="Filter runs"
          placeholder="Filter"
          className="h-7 w-40 min-w-0 rounded-md border border-line bg-panel px-2 max-sm:h-9"
          value={search}
          onChange={({ target }) => setSearch(target.value)}
        />
        <span className="ml-auto text-xs whitespace-nowrap text-soft" aria-live="polite">
          {me?.allRuns === false && "You see your own runs. "}
          {isLoaded &&
            `${shown.length}${hasMore ? "+" : ""} ${shown.length === 1 ? "run" : "runs"}`}
        </span>
      </div>
      {error !== undefined && <Problem error={error} />}
      {isLoaded && shown.length === 0 ? (
        <NoRuns filter={list} isSearch={wanted !== ""} />
      ) : (
        <VirtualList
          label="Runs"
          isMain
          count={shown.length}
          rowHeight={isNarrow ? 58 : 34}
          keyOf={(index) => shown[index]?.runId ?? ""}
          header={isNarrow ? undefined : <ColumnTitles />}
          onOpen={(index) => navigate(`/runs/${shown[index]?.runId}`)}
          onEnd={loadMore}
          rowProps={() => ({ className: "cursor-pointer" })}
          renderRow={(index) => {
            const row = shown[index];
            if (row === undefined) return null;
            const state = shownRunState(row, asking.has(row.runId));
            return isNarrow ? (
              <NarrowRow row={row} state={state} />
            ) : (
              <WideRow row={row} state={state} />
            );
          }}
        />
      )}
    </>
  );
}

function ColumnTitles() {
  const titles = ["State", "Task", "Agents", "Tokens", "Cost", "Time", "Started"];
  return (
    <div role="row" className={`${columns} h-7`}>
      {titles.map((title, index) => (
        <span key={title} role="columnheader" className={index > 1 ? "text-right" : ""}>
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

function WideRow({ row, state }: RowProps) {
  const number = "text-right text-soft";
  return (
    <div role="presentation" className={`${columns} h-full`}>
      <span role="gridcell" className="min-w-0">
        <StateBadge state={state} />
      </span>
      <span role="gridcell" className="flex min-w-0 items-baseline gap-2">
        <TaskLink row={row} />
        <span className="shrink-0 font-mono text-xs text-soft">{row.runId}</span>
      </span>
      <span role="gridcell" className={number}>
        {row.delegations}
      </span>
      <span role="gridcell" className={number}>
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

function NarrowRow({ row, state }: RowProps) {
  return (
    <div role="gridcell" className="flex h-full flex-col justify-center px-4">
      <span className="flex min-w-0 items-center gap-2">
        <span className="flex shrink-0">
          <StateBadge state={state} isShort />
        </span>
        <TaskLink row={row} />
      </span>
      <span className="flex gap-3 pl-6 text-xs text-soft">
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

function NoRuns({ filter, isSearch }: { readonly filter: string; readonly isSearch: boolean }) {
  if (isSearch) return <Empty title="No run fits">Only what was loaded is looked through.</Empty>;
  if (filter === "open") {
    return <Empty title="Nothing is running">What is started appears here, live.</Empty>;
  }
  if (filter === "failed") return <Empty title="No run failed" />;
  return (
    <Empty title="No runs yet">
      A run is one task, and the tree of agents that work on it. Give a task here, or in a terminal:{" "}
      <code>mandate run "…"</code>
    </Empty>
  );
}
