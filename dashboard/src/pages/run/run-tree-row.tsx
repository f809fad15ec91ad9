import type { ReactNode } from "react";
import type { Exactness } from "../../../../src/events/spent.ts";
import { harmlessLine } from "../../../../src/sessions/harmless-text.ts";
import { Duration, Money, TokensBar } from "../../components/amounts.tsx";
import { StateBadge } from "../../components/state-badge.tsx";
import { Text } from "../../components/text.tsx";
import { describeActivity, stateOfRow } from "./describe-activity.ts";
import type { TreeRow } from "./run-tree-rows.ts";

// Who answered is left out where there is little room: the page of the delegation has it.
const columns =
  "grid grid-cols-[minmax(0,1fr)_9rem_8.5rem_3.5rem_3.5rem] items-center gap-x-3 pr-4 pl-2 @4xl:grid-cols-[minmax(0,1fr)_10rem_9rem_8.5rem_4rem_4rem]";
const spacious = "hidden @4xl:block";

export function TreeColumnTitles() {
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

export function WideTreeRow({ row, at, isInterrupted, name }: RowProps) {
  const { capTokens, spent } = row;
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
        <TokensBar used={spent.tokens} of={capTokens} {...exactnessOf(spent)} />
      </span>
      <span role="gridcell" className="text-right text-soft">
        <Money dollars={spent.cost} {...exactnessOf(spent)} />
      </span>
      <span role="gridcell" className="text-right text-soft">
        <Elapsed row={row} at={at} isInterrupted={isInterrupted} />
      </span>
    </div>
  );
}

export function NarrowTreeRow({ row, at, isInterrupted, name }: RowProps) {
  const { capTokens, spent } = row;
  return (
    <div role="presentation" className="flex h-full flex-col justify-center pr-3 pl-1">
      {name}
      <span
        role="gridcell"
        className="flex items-center gap-3 pl-6.5 text-xs whitespace-nowrap text-soft"
      >
        <span className="mr-auto min-w-0">
          <StateBadge
            state={stateOfRow(row, isInterrupted)}
            word={harmlessLine(describeActivity(row, isInterrupted), 80)}
          />
        </span>
        <TokensBar used={spent.tokens} of={capTokens} {...exactnessOf(spent)} />
        <Money dollars={spent.cost} {...exactnessOf(spent)} />
        <Elapsed row={row} at={at} isInterrupted={isInterrupted} />
      </span>
    </div>
  );
}

function exactnessOf({ estimated, unmetered }: Exactness): Exactness {
  return { estimated, unmetered };
}

function Elapsed({ row: { delegation }, at, isInterrupted }: Omit<RowProps, "name">) {
  const isClosed = delegation.status === "closed";
  if (isInterrupted && !isClosed) return <span>–</span>;
  return <Duration from={delegation.createdAt} to={isClosed ? delegation.closedAt : at} />;
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
