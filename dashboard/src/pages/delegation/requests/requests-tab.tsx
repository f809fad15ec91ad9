import { useState } from "react";
import { formatSpan } from "../../../../../src/surfaces/cli/amounts.ts";
import { Clock, Money, Tokens } from "../../../components/amounts.tsx";
import { Empty } from "../../../components/empty.tsx";
import { Problem } from "../../../components/problem.tsx";
import { Text } from "../../../components/text.tsx";
import { VirtualList } from "../../../components/virtual-list.tsx";
import { RequestDetails } from "./request-details.tsx";
import { type ModelRequest, useModelRequests } from "./use-requests.ts";

const columns =
  "grid grid-cols-[2.25rem_minmax(0,1fr)_4rem_4.5rem] items-center gap-x-3 px-4 sm:grid-cols-[2rem_5rem_minmax(0,9rem)_minmax(0,1fr)_3.5rem_3.5rem_3.5rem_4rem]";

/** Every request to a model: who answered, what it cost, how long it took, and why it was tried again. */
export function RequestsTab({ delegationId }: { readonly delegationId: string }) {
  const { data, error, refetch } = useModelRequests(delegationId);
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  if (data === undefined) {
    return error === null ? (
      <p className="px-4 py-6 text-soft">Reading the model calls…</p>
    ) : (
      <Problem error={error} onRetry={refetch} />
    );
  }
  const { isCut, items } = data;
  if (items.length === 0) {
    return (
      <Empty title="No model calls yet">
        Each request appears here with its prompt, answer, tokens and cost.
      </Empty>
    );
  }
  const toggle = (index: number): void => {
    const request = items[index]?.request;
    if (request === undefined) return;
    const next = new Set(open);
    if (!next.delete(request)) next.add(request);
    setOpen(next);
  };
  return (
    <>
      <VirtualList
        label="Model calls"
        kind="treegrid"
        isMain
        count={items.length}
        rowHeight={34}
        keyOf={(index) => String(items[index]?.request)}
        header={<ColumnTitles />}
        expanded={items.flatMap(({ request }, index) => (open.has(request) ? [index] : []))}
        onOpen={toggle}
        rowProps={(index) => ({
          className: "cursor-pointer",
          "aria-expanded": open.has(items[index]?.request ?? 0),
        })}
        renderRow={(index) => {
          const row = items[index];
          return row && <RequestRow row={row} />;
        }}
        renderDetails={(index) => {
          const row = items[index];
          return row && <RequestDetails delegationId={delegationId} row={row} />;
        }}
      />
      {isCut && (
        <p className="border-t border-line px-4 py-1 text-xs text-soft">
          The first {items.length.toLocaleString("en")} are shown. The API lists all of them.
        </p>
      )}
    </>
  );
}

const titles = ["#", "Result", "Model", "Answer", "Prompt", "Output", "Cost", "Time"];
const onlyWide: ReadonlySet<number> = new Set([1, 2, 4, 5]);

function ColumnTitles() {
  return (
    <div role="row" className={`${columns} h-7`}>
      {titles.map((title, index) => (
        <span
          key={title}
          role="columnheader"
          className={`${index > 3 ? "text-right" : ""} ${onlyWide.has(index) ? "max-sm:hidden" : ""}`}
        >
          {title}
        </span>
      ))}
    </div>
  );
}

function RequestRow({ row }: { readonly row: ModelRequest }) {
  const number = "text-right text-xs text-soft";
  const { at, completion, cost, endedAt, estimated, model, outcome, prompt, request, served } = row;
  return (
    <div role="presentation" className={`${columns} h-full`}>
      <span role="gridcell" className="text-xs text-soft" title={`Attempt ${row.attempt}`}>
        {request}
      </span>
      <span role="gridcell" className="min-w-0 truncate max-sm:hidden">
        <Outcome row={row} />
      </span>
      <span role="gridcell" className="flex min-w-0 gap-1 max-sm:hidden">
        <Text className="truncate">{model}</Text>
        {served !== null && !model.endsWith(served) && (
          <Text className="truncate text-warn">{`→ ${served}`}</Text>
        )}
      </span>
      <span role="gridcell" className="min-w-0 truncate text-soft">
        <span className="sm:hidden">{outcome !== "answered" && <Outcome row={row} />} </span>
        <Text most={200}>{summaryOf(row)}</Text>
      </span>
      <span role="gridcell" className={`${number} max-sm:hidden`}>
        {outcome === "open" ? "–" : <Tokens tokens={prompt} estimated={estimated || undefined} />}
      </span>
      <span role="gridcell" className={`${number} max-sm:hidden`}>
        {outcome === "open" ? (
          "–"
        ) : (
          <Tokens tokens={completion} estimated={estimated || undefined} />
        )}
      </span>
      <span role="gridcell" className={number}>
        {outcome === "open" ? "–" : <Money dollars={cost} estimated={estimated || undefined} />}
      </span>
      <span role="gridcell" className={number}>
        {endedAt === null ? <Clock at={at} /> : formatSpan(endedAt - at)}
      </span>
    </div>
  );
}

function Outcome({ row: { outcome, retry } }: { readonly row: ModelRequest }) {
  if (outcome === "answered") return <span className="text-good">Answered</span>;
  if (outcome === "open") return <span className="text-busy">Waiting</span>;
  return <span className="text-bad">{retry === null ? "Failed" : "Retried"}</span>;
}

function summaryOf({ finishReason, retry, tools }: ModelRequest): string {
  if (retry !== null) return retry.reason;
  if (tools.length > 0) return `calls ${tools.join(", ")}`;
  return finishReason === null ? "" : finishReason.replaceAll(/[-_]/g, " ");
}
