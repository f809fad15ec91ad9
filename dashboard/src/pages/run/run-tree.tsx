import { useState } from "react";
import { Empty } from "../../components/empty.tsx";
import { VirtualList } from "../../components/virtual-list.tsx";
import { navigate } from "../../router/router.ts";
import type { RunView } from "./replay/use-replay.ts";
import { NarrowTreeRow, TreeColumnTitles, WideTreeRow } from "./run-tree-row.tsx";
import { type TreeRow, treeRows } from "./run-tree-rows.ts";
import { TreeRowName } from "./tree-row-name.tsx";
import type { Workflows } from "./workflow/use-workflows.ts";

interface RunTreeProps extends Pick<Workflows, "nameOf"> {
  readonly feed: RunView;
  /** The moment that is shown; null: the present. */
  readonly at: number | null;
  readonly isInterrupted: boolean;
  /** There is little room for the tree. */
  readonly isNarrow: boolean;
  readonly chosen: string | null;
  readonly onChoose: (delegationId: string | null) => void;
}

export function RunTree(props: RunTreeProps) {
  const { at, chosen, feed, isInterrupted, isNarrow, nameOf, onChoose } = props;
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
    return <Empty title="Not started">It waits for those before it in its workspace.</Empty>;
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
        header={isNarrow ? undefined : <TreeColumnTitles />}
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
          const name = (
            <TreeRowName
              row={row}
              {...nameOf(row.delegation.id)}
              onFold={() => fold(row, !row.isFolded)}
            />
          );
          return isNarrow ? (
            <NarrowTreeRow row={row} at={at} isInterrupted={isInterrupted} name={name} />
          ) : (
            <WideTreeRow row={row} at={at} isInterrupted={isInterrupted} name={name} />
          );
        }}
      />
    </div>
  );
}
