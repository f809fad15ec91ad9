import { useState } from "react";
import type { WorkflowCallView, WorkflowView } from "../../../../../src/sessions/workflow-view.ts";
import { Duration, Money, Tokens, TokensBar } from "../../../components/amounts.tsx";
import { Button } from "../../../components/button.tsx";
import { type ShownState, StateBadge } from "../../../components/state-badge.tsx";
import { Text } from "../../../components/text.tsx";
import { VirtualList } from "../../../components/virtual-list.tsx";
import { Link } from "../../../router/link.tsx";
import { navigate } from "../../../router/router.ts";
import { describeActivity, stateOfRow } from "../describe-activity.ts";
import type { RunView } from "../replay/use-replay.ts";
import { treeRows } from "../run-tree-rows.ts";
import { SkipDialog } from "./skip-dialog.tsx";
import {
  countCalls,
  tellCounts,
  tellWhy,
  type WorkflowGroup,
  type WorkflowRow,
  workflowRows,
} from "./workflow-rows.ts";

interface WorkflowTabProps {
  readonly feed: RunView;
  readonly views: readonly WorkflowView[];
  /** The moment that is shown; null: the present. */
  readonly at: number | null;
  readonly isInterrupted: boolean;
  readonly isNarrow: boolean;
  /** The person may skip an agent: the run works, and is shown as it is. */
  readonly maySkip: boolean;
  readonly chosen: string | null;
  readonly onChoose: (delegationId: string | null) => void;
}

const nothingFolded: ReadonlySet<string> = new Set();

/** A workflow by phases: which agents were replayed, which ran and why, and what each cost. */
export function WorkflowTab(props: WorkflowTabProps) {
  const { chosen, feed, isNarrow, maySkip, onChoose, views } = props;
  const [skipping, setSkipping] = useState<CallRow | null>(null);
  const agents = new Map(treeRows(feed, nothingFolded).map((row) => [row.delegation.id, row]));
  const rows = views.flatMap((view): readonly Row[] => {
    const title: Row = { kind: "workflow", key: view.delegationId, view };
    return [title, ...workflowRows(view, agents)];
  });
  const agentAt = (index: number): string | null => {
    const row = rows[index];
    return row?.kind === "call" ? (row.agent?.delegation.id ?? null) : null;
  };
  return (
    <>
      <VirtualList
        label="Workflow"
        isMain
        count={rows.length}
        rowHeight={isNarrow ? 56 : 34}
        keyOf={(index) => rows[index]?.key ?? ""}
        header={isNarrow ? undefined : <ColumnTitles />}
        onOpen={(index) => {
          const id = agentAt(index);
          onChoose(id === chosen ? null : id);
        }}
        onRowKey={(key, index) => {
          const row = rows[index];
          const id = row?.kind === "call" ? row.call.delegation : undefined;
          if (key !== "o" || id === undefined) return false;
          navigate(`/delegations/${id}`);
          return true;
        }}
        rowProps={(index) => {
          const id = agentAt(index);
          const isChosen = id !== null && id === chosen;
          const row = rows[index];
          return {
            "aria-selected": isChosen,
            className: isChosen ? "bg-chosen" : row?.kind === "group" ? "bg-page" : "",
          };
        }}
        renderRow={(index) => {
          const row = rows[index];
          switch (row?.kind) {
            case "workflow":
              return <Title view={row.view} />;
            case "group":
              return <Group group={row} isNarrow={isNarrow} />;
            case "call":
              return <Call row={row} {...props} onSkip={maySkip ? setSkipping : undefined} />;
            case "line":
              return <Line text={row.text} />;
            default:
              return null;
          }
        }}
      />
      {skipping !== null && (
        <SkipDialog
          runId={feed.state.id}
          runner={skipping.runner}
          call={skipping.call}
          onClose={() => setSkipping(null)}
        />
      )}
    </>
  );
}

type Row =
  | WorkflowRow
  | { readonly kind: "workflow"; readonly key: string; readonly view: WorkflowView };

type CallRow = Extract<WorkflowRow, { readonly kind: "call" }>;

const columns =
  "grid grid-cols-[minmax(0,1fr)_8rem_8.5rem_3.5rem_3.5rem] items-center gap-x-3 px-4";

function ColumnTitles() {
  return (
    <div role="row" className={`${columns} h-7`}>
      <span role="columnheader">Agent</span>
      <span role="columnheader">State</span>
      <span role="columnheader">Tokens</span>
      <span role="columnheader" className="text-right">
        Cost
      </span>
      <span role="columnheader" className="text-right">
        Time
      </span>
    </div>
  );
}

function Title({ view }: { readonly view: WorkflowView }) {
  const { calls, description, name, resumes } = view;
  return (
    <div role="gridcell" className="flex h-full min-w-0 items-center gap-3 px-4">
      <Text className="max-w-2/5 shrink-0 truncate font-semibold" most={100}>
        {name}
      </Text>
      <Text className="min-w-0 flex-1 truncate text-soft">{description}</Text>
      {resumes !== null && (
        <Link
          to={`/delegations/${resumes}`}
          tabIndex={-1}
          className="shrink-0 text-xs text-accent hover:underline"
        >
          Resumes {resumes}
        </Link>
      )}
      <span className="shrink-0 text-xs text-soft max-sm:hidden">
        {tellCounts(countCalls(calls))}
      </span>
    </div>
  );
}

function Group({ group, isNarrow }: { readonly group: WorkflowGroup; readonly isNarrow: boolean }) {
  const { counts, phase, spent } = group;
  const title = (
    <span role="gridcell" className="flex min-w-0 items-baseline gap-2">
      <Text className="min-w-0 truncate font-semibold" most={100}>
        {phase ?? "Outside of phases"}
      </Text>
      <span className="shrink-0 text-xs text-soft">{tellCounts(counts)}</span>
    </span>
  );
  const tokens = (
    <span role="gridcell" className="text-soft">
      {spent.tokens > 0 && <Tokens tokens={spent.tokens} estimated={spent.estimated} />}
    </span>
  );
  const cost = (
    <span role="gridcell" className="text-right text-soft">
      {spent.tokens > 0 && <Money dollars={spent.cost} estimated={spent.estimated} />}
    </span>
  );
  if (isNarrow) {
    return (
      <div
        role="presentation"
        className="flex h-full items-center gap-3 px-4 [&>:first-child]:flex-1"
      >
        {title}
        {tokens}
        {cost}
      </div>
    );
  }
  return (
    <div role="presentation" className={`${columns} h-full`}>
      <span className="col-span-2 flex min-w-0">{title}</span>
      {tokens}
      {cost}
    </div>
  );
}

interface CallProps extends Pick<WorkflowTabProps, "at" | "isInterrupted" | "isNarrow"> {
  readonly row: CallRow;
  readonly onSkip: ((row: CallRow) => void) | undefined;
}

function Call({ at, isInterrupted, isNarrow, onSkip, row }: CallProps) {
  const { agent, call } = row;
  const { error = "", label } = call;
  const why = tellWhy(call);
  const skip = onSkip !== undefined && call.kind === "agent" && call.state === "running" && (
    <Button className="ml-auto h-6 px-2 text-xs max-sm:h-8" onClick={() => onSkip(row)}>
      Skip
    </Button>
  );
  const name = (
    <span role="gridcell" className="flex min-w-0 items-center gap-2 sm:pl-3">
      {call.delegation === undefined ? (
        <Text className="max-w-3/5 shrink-0 truncate font-medium">{label}</Text>
      ) : (
        <Link
          to={`/delegations/${call.delegation}`}
          tabIndex={-1}
          className="max-w-3/5 shrink-0 truncate font-medium hover:underline"
        >
          <Text>{label}</Text>
        </Link>
      )}
      {call.kind !== "agent" && (
        <span className="shrink-0 text-xs text-soft">
          {call.kind === "timer" ? "timer" : "workflow"}
        </span>
      )}
      {why !== "" && <Text className="min-w-0 truncate text-soft">{why}</Text>}
      {error !== "" && <Text className="min-w-0 flex-1 truncate text-xs text-bad">{error}</Text>}
      {!isNarrow && skip}
    </span>
  );
  const state = <CallState row={row} isInterrupted={isInterrupted} />;
  const tokens = agent && (
    <TokensBar used={agent.spent.tokens} of={agent.capTokens} estimated={agent.spent.estimated} />
  );
  const cost = agent && <Money dollars={agent.spent.cost} estimated={agent.spent.estimated} />;
  const time = agent && (!isInterrupted || agent.delegation.status === "closed") && (
    <Duration
      from={agent.delegation.createdAt}
      to={agent.delegation.status === "closed" ? agent.delegation.closedAt : at}
    />
  );
  if (isNarrow) {
    return (
      <div role="presentation" className="flex h-full items-center gap-2 px-4">
        <span className="flex min-w-0 flex-1 flex-col justify-center">
          {name}
          <span
            role="gridcell"
            className="flex items-center gap-3 text-xs whitespace-nowrap text-soft"
          >
            <span className="mr-auto min-w-0">{state}</span>
            {agent && <Tokens tokens={agent.spent.tokens} estimated={agent.spent.estimated} />}
            {cost}
            {time}
          </span>
        </span>
        {skip && <span role="gridcell">{skip}</span>}
      </div>
    );
  }
  return (
    <div role="presentation" className={`${columns} h-full`}>
      {name}
      <span role="gridcell" className="min-w-0">
        {state}
      </span>
      <span role="gridcell">{tokens}</span>
      <span role="gridcell" className="text-right text-soft">
        {cost}
      </span>
      <span role="gridcell" className="text-right text-soft">
        {time}
      </span>
    </div>
  );
}

const looks: Readonly<
  Record<WorkflowCallView["state"], { readonly state: ShownState; readonly word: string }>
> = {
  waiting: { state: "queued", word: "Waits" },
  running: { state: "running", word: "Running" },
  done: { state: "succeeded", word: "Done" },
  replayed: { state: "replayed", word: "Replayed" },
  null: { state: "failed", word: "Failed: null" },
  skipped: { state: "cancelled", word: "Skipped: null" },
  failed: { state: "failed", word: "Failed: thrown" },
};

/** What its agent does while it works; afterwards, what the script got. */
function CallState({ row, isInterrupted }: Pick<CallProps, "isInterrupted" | "row">) {
  const { agent, call } = row;
  if (call.state === "running" && agent !== undefined) {
    const word = describeActivity(agent, isInterrupted);
    return <StateBadge state={stateOfRow(agent, isInterrupted)} word={word} />;
  }
  if (call.state === "waiting" && isInterrupted) return <StateBadge state="interrupted" />;
  return <StateBadge {...looks[call.state]} />;
}

function Line({ text }: { readonly text: string }) {
  return (
    <div role="gridcell" className="flex h-full min-w-0 items-center gap-3 px-4 text-soft">
      <span className="shrink-0 text-xs">log</span>
      <Text className="min-w-0 truncate">{text}</Text>
    </div>
  );
}
