import { type ReactNode, useState } from "react";
import { harmlessLine } from "../../../../src/sessions/harmless-text.ts";
import { Duration, Money, TokensBar } from "../../components/amounts.tsx";
import { Empty } from "../../components/empty.tsx";
import { StateBadge } from "../../components/state-badge.tsx";
import { Text } from "../../components/text.tsx";
import { VirtualList } from "../../components/virtual-list.tsx";
import { Link } from "../../router/link.tsx";
import { navigate } from "../../router/router.ts";
import { describeActivity, stateOfRow } from "./describe-activity.ts";
import type { RunView } from "./replay/use-replay.ts";
import { type TreeRow, treeRows } from "./run-tree-rows.ts";

interface RunTreeProps {
  readonly feed: RunView;
  /** It is shown as it was then; null: as it is. */
  readonly at: number | null;
  readonly isInterrupted: boolean;
  /** The room that there is. */
  readonly isNarrow: boolean;
  readonly chosen: string | null;
  readonly onChoose: (delegationId: string | null) => void;
}

// Who answered is left out where there is little room: the page of the delegation has it.
const columns =
  "grid grid-cols-[minmax(0,1fr)_9rem_8.5rem_3.5rem_3.5rem] items-center gap-x-3 pr-4 pl-2 @4xl:grid-cols-[minmax(0,1fr)_10rem_9rem_8.5rem_4rem_4rem]";
const spacious = "hidden @4xl:block";

export function RunTree({ feed, at, isInterrupted, isNarrow, chosen, onChoose }: RunTreeProps) {
  const [folded, setFolded] = useState<ReadonlySet<string>>(new Set());
  const rows = treeRows(feed, folded);
  const fold = (row: TreeRow | undefined, isFolded: boolean): boolean => {
    if (row === undefined || row.children === 0) return false;
    const next = new Set(folded);
    if (isFolded) next.add(row.delegation.id);
    else next.delete(row.delegation.id);
    setFolded(next);
    return true;
  };
  if (feed.isComplete && rows.length === 0) {
    return (
      <Empty title="Nobody works on it yet">It waits for those before it in its workspace.</Empty>
    );
  }
  const press = (key: string, index: number): boolean => {
    const row = rows[index];
    if (key === "ArrowRight") return fold(row, false);
    if (key === "ArrowLeft") return fold(row, true);
    if (key !== "o" || row === undefined) return false;
    navigate(`/delegations/${row.delegation.id}`);
    return true;
  };
  return (
    <div className="@container flex min-h-0 flex-1 flex-col">
      <VirtualList
        label="Delegations"
        kind="treegrid"
        isMain
        count={rows.length}
        rowHeight={isNarrow ? 56 : 34}
        keyOf={(index) => rows[index]?.delegation.id ?? ""}
        header={isNarrow ? undefined : <ColumnTitles />}
        onOpen={(index) => {
          const id = rows[index]?.delegation.id ?? null;
          onChoose(id === chosen ? null : id);
        }}
        onRowKey={press}
        rowProps={(index) => {
          const row = rows[index];
          return {
            "aria-level": (row?.depth ?? 0) + 1,
            ...(row && row.children > 0 && { "aria-expanded": !row.isFolded }),
            "aria-selected": row?.delegation.id === chosen,
            className: row?.delegation.id === chosen ? "bg-chosen" : "",
          };
        }}
        renderRow={(index) => {
          const row = rows[index];
          if (row === undefined) return null;
          const name = <Name row={row} onFold={() => fold(row, !row.isFolded)} />;
          return isNarrow ? (
            <NarrowRow row={row} at={at} isInterrupted={isInterrupted} name={name} />
          ) : (
            <WideRow row={row} at={at} isInterrupted={isInterrupted} name={name} />
          );
        }}
      />
    </div>
  );
}

function ColumnTitles() {
  const titles = ["Agent", "State", "Model", "Tokens", "Cost", "Time"];
  return (
    <div role="row" className={`${columns} h-7`}>
      {titles.map((title, index) => (
        <span
          key={title}
          role="columnheader"
          className={index > 3 ? "text-right" : index === 2 ? spacious : index === 0 ? "pl-7" : ""}
        >
          {title}
        </span>
      ))}
    </div>
  );
}

interface RowProps {
  readonly row: TreeRow;
  readonly at: number | null;
  readonly isInterrupted: boolean;
  readonly name: ReactNode;
}

function WideRow({ row, at, isInterrupted, name }: RowProps) {
  const { cost, capTokens, tokens } = row;
  const activity = describeActivity(row, isInterrupted);
  return (
    <div role="presentation" className={`${columns} h-full`}>
      {name}
      <span role="gridcell" className="min-w-0">
        <StateBadge state={stateOfRow(row, isInterrupted)} word={harmlessLine(activity, 80)} />
      </span>
      <span role="gridcell" className={`min-w-0 ${spacious}`}>
        <Model row={row} />
      </span>
      <span role="gridcell">
        <TokensBar used={tokens} of={capTokens} />
      </span>
      <span role="gridcell" className="text-right text-soft">
        <Money dollars={cost} />
      </span>
      <span role="gridcell" className="text-right text-soft">
        <Elapsed row={row} at={at} isInterrupted={isInterrupted} />
      </span>
    </div>
  );
}

function NarrowRow({ row, at, isInterrupted, name }: RowProps) {
  const { cost, capTokens, tokens } = row;
  return (
    <div role="presentation" className="flex h-full flex-col justify-center pr-3 pl-1">
      {name}
      <span role="gridcell" className="flex items-center gap-3 pl-6.5 text-xs text-soft">
        <span className="mr-auto min-w-0">
          <StateBadge
            state={stateOfRow(row, isInterrupted)}
            word={harmlessLine(describeActivity(row, isInterrupted), 80)}
          />
        </span>
        <TokensBar used={tokens} of={capTokens} />
        <Money dollars={cost} />
        <Elapsed row={row} at={at} isInterrupted={isInterrupted} />
      </span>
    </div>
  );
}

function Elapsed({ row: { delegation }, at, isInterrupted }: Omit<RowProps, "name">) {
  const isClosed = delegation.status === "closed";
  if (isInterrupted && !isClosed) return <span>–</span>;
  return <Duration from={delegation.createdAt} to={isClosed ? delegation.closedAt : at} />;
}

interface NameProps {
  readonly row: TreeRow;
  readonly onFold: () => void;
}

const deepest = 12;

function Name({ row, onFold }: NameProps) {
  const { children, delegation, depth, isFolded } = row;
  const { id, profile, title } = delegation;
  return (
    <span
      role="gridcell"
      className="flex min-w-0 items-center gap-1.5"
      style={{ paddingLeft: Math.min(depth, deepest) * 18 }}
    >
      {children > 0 ? (
        <button
          type="button"
          tabIndex={-1}
          className="size-5 shrink-0 rounded-sm text-soft hover:text-ink"
          aria-label={`${isFolded ? "Unfold" : "Fold"} ${harmlessLine(profile, 80)}`}
          onClick={onFold}
        >
          <svg
            viewBox="0 0 16 16"
            className={`mx-auto size-3.5 ${isFolded ? "" : "rotate-90"}`}
            aria-hidden="true"
          >
            <path d="m6 4 4 4-4 4" fill="none" stroke="currentColor" strokeWidth="1.75" />
          </svg>
        </button>
      ) : (
        <span className="size-5 shrink-0" />
      )}
      <Link
        to={`/delegations/${id}`}
        tabIndex={-1}
        className="shrink-0 font-medium hover:underline"
      >
        <Text most={60}>{profile}</Text>
      </Link>
      {depth > 0 && <Text className="min-w-0 truncate text-soft">{title}</Text>}
      {isFolded && <span className="shrink-0 text-xs text-soft">({children})</span>}
    </span>
  );
}

/** What was asked for; who answered, where that is another. */
function Model({ row: { notes, requested } }: { readonly row: TreeRow }) {
  if (requested === null) return <span className="text-soft">–</span>;
  const others = notes.served.filter((model) => !requested.endsWith(model));
  const words = others.length === 0 ? requested : `${requested}, answered by ${others.join(", ")}`;
  // The scripted model is called so wherever it answers: it must not pass for a language model.
  const shown = /^scripted\//.test(requested) ? requested : requested.replace(/^[^/]*\//, "");
  return (
    <span className="flex min-w-0 items-center gap-1 text-soft" title={harmlessLine(words, 300)}>
      <Text className="truncate">{shown}</Text>
      {others.length > 0 && <Text className="truncate text-warn">{`→ ${others.join(", ")}`}</Text>}
    </span>
  );
}
