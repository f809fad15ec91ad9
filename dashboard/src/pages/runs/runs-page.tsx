import { useState } from "react";
import { Button } from "../../components/button.tsx";
import { CommandLine } from "../../components/command-line.tsx";
import { Empty } from "../../components/empty.tsx";
import { Problem } from "../../components/problem.tsx";
import { ScriptedNotice } from "../../components/scripted-notice.tsx";
import { shownRunState } from "../../components/state-badge.tsx";
import { narrow, useMedia } from "../../components/use-media.ts";
import { VirtualList } from "../../components/virtual-list.tsx";
import { client } from "../../data/client.ts";
import { isRecordChange } from "../../data/is-record-change.ts";
import { useAskingRuns } from "../../data/open-asks.ts";
import { useRunList } from "../../data/run-list.ts";
import { useLiveQuery } from "../../data/use-live-query.ts";
import { useMe } from "../../data/use-me.ts";
import { navigate, usePlace, useQueryWord } from "../../router/router.ts";
import { Composer } from "./composer.tsx";
import { filtersIn, RunFilters } from "./run-filters.tsx";
import { ColumnTitles, NarrowRow, WideRow } from "./run-row.tsx";

const states = [
  { id: "all", label: "All", query: {} },
  { id: "open", label: "Open", query: { open: true } },
  { id: "succeeded", label: "Done", query: { outcome: "succeeded" } },
  { id: "failed", label: "Failed", query: { outcome: "failed" } },
  { id: "cancelled", label: "Cancelled", query: { outcome: "cancelled" } },
] as const;

export function RunsPage() {
  const [filter, setFilter] = useQueryWord("show", "all");
  const [search, setSearch] = useState("");
  const isNarrow = useMedia(narrow);
  const me = useMe();
  const { id: list, query } = states.find(({ id }) => id === filter) ?? states[0];
  const { query: words } = usePlace();
  const filters = filtersIn(words);
  const isFiltered = Object.keys(filters).length > 0;
  const { error, hasMore, isLoaded, items, loadMore } = useRunList({ ...query, ...filters });
  const profiles = useLiveQuery({
    key: ["profiles", "waiting"],
    load: (signal) => client.listProfiles({}, { signal }),
    changedBy: isRecordChange,
  });
  const asking = useAskingRuns();
  const wanted = search.trim().toLowerCase();
  const shown = items.filter(
    (row) => wanted === "" || `${row.runId} ${row.title}`.toLowerCase().includes(wanted),
  );
  const fields = (
    <RunFilters
      rows={items}
      profiles={profiles.data?.items.map(({ name }) => name) ?? []}
      workspaces={me?.workspaces ?? []}
    />
  );
  return (
    <>
      <h1 className="sr-only">Runs</h1>
      <ScriptedNotice />
      {me?.role !== "viewer" && <Composer />}
      <div className="flex shrink-0 flex-wrap items-center gap-x-3 gap-y-2 border-b border-line px-4 py-1.5">
        <fieldset className="flex rounded-md border border-line p-0.5">
          <legend className="sr-only">Which runs</legend>
          {states.map(({ id, label }) => (
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
          aria-label="Find in the list"
          placeholder="Find in the list"
          className="h-7 w-40 min-w-0 rounded-md border border-line bg-panel px-2 max-sm:h-9"
          value={search}
          onChange={({ target }) => setSearch(target.value)}
        />
        {isNarrow ? (
          <details className="w-full" open={isFiltered}>
            <summary className="py-1 text-accent">Filters</summary>
            {fields}
          </details>
        ) : (
          fields
        )}
        <span className="ml-auto text-xs whitespace-nowrap text-soft" aria-live="polite">
          {me?.allRuns === false && "You see your own runs. "}
          {isLoaded &&
            `${shown.length}${hasMore ? "+" : ""} ${shown.length === 1 ? "run" : "runs"}`}
        </span>
      </div>
      {error !== null && <Problem error={error} />}
      {isLoaded && shown.length === 0 ? (
        <NoRuns filter={list} isSearch={wanted !== ""} isFiltered={isFiltered} />
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

interface NoRunsProps {
  readonly filter: string;
  readonly isSearch: boolean;
  readonly isFiltered: boolean;
}

function NoRuns({ filter, isSearch, isFiltered }: NoRunsProps) {
  if (isSearch) {
    return (
      <Empty title="No run matches">
        This searches the runs that are loaded. Scroll down to load older ones.
      </Empty>
    );
  }
  if (isFiltered) {
    return (
      <Empty title="No run matches these filters">
        <Button onClick={() => navigate("/runs")}>Remove all filters</Button>
      </Empty>
    );
  }
  if (filter === "open") return <Empty title="No run is open">New runs appear here, live.</Empty>;
  if (filter === "failed") return <Empty title="No run failed" />;
  if (filter === "cancelled") return <Empty title="No run was cancelled" />;
  return (
    <Empty title="No runs yet">
      <p>
        A run is one task, and the agents that work on it. Write a task above, or start one in a
        terminal:
      </p>
      <p className="mt-2">
        <CommandLine>mandate run "Summarize the README"</CommandLine>
      </p>
    </Empty>
  );
}
