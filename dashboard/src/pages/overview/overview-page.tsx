import type { ReactNode } from "react";
import { Duration, Money, Time, Tokens } from "../../components/amounts.tsx";
import { CommandLine } from "../../components/command-line.tsx";
import { Empty } from "../../components/empty.tsx";
import { Problem } from "../../components/problem.tsx";
import { ScriptedNotice } from "../../components/scripted-notice.tsx";
import { StateBadge, shownRunState } from "../../components/state-badge.tsx";
import { Text } from "../../components/text.tsx";
import { client } from "../../data/client.ts";
import type { RunRow } from "../../data/run-list.ts";
import { useLiveQuery } from "../../data/use-live-query.ts";
import { useMe } from "../../data/use-me.ts";
import { useNow } from "../../data/use-now.ts";
import { Link } from "../../router/link.tsx";
import { addressOf, type ShownItem, tellDeadline } from "../inbox/inbox-item.ts";
import { Composer } from "../runs/composer.tsx";
import { Panel } from "./panel.tsx";
import { SpentPanel } from "./spent-panel.tsx";

const newsEvents = [
  ...["run.started", "run.resumed", "run.finished", "agent.asked", "agent.answered"],
  ...["agent.subagent_closed", "agent.budget_settled"],
];
/** Workers and deadlines change without an event. */
const everyMs = 30_000;

export function OverviewPage() {
  const me = useMe();
  const { data, error, refetch } = useLiveQuery({
    key: ["overview"],
    load: (signal) => client.getOverview({}, { signal }),
    changedBy: ({ type }) => newsEvents.includes(type),
    everyMs,
  });
  const asking = new Set(data?.waiting.items.map(({ runId }) => runId));
  const isNew =
    data !== undefined &&
    data.open.total + data.waiting.total + data.recent.length + data.spent.days.length === 0;
  return (
    <>
      <h1 className="sr-only">Overview</h1>
      <ScriptedNotice />
      {me !== undefined && me.role !== "viewer" && <Composer />}
      {error !== null && <Problem error={error} onRetry={refetch} />}
      {isNew && (
        <Empty title="No runs yet">
          <p>
            A run is one task, and the agents that work on it. Write a task above, or start one in a
            terminal:
          </p>
          <p className="mt-2">
            <CommandLine>mandate run "Summarize the README"</CommandLine>
          </p>
        </Empty>
      )}
      {data !== undefined && !isNew && (
        <div className="grid min-w-0 content-start gap-px bg-line lg:grid-cols-2 lg:[&>*:last-child:nth-child(odd)]:col-span-2">
          <Panel
            title="Waiting for you"
            count={data.waiting.total}
            to="/inbox"
            all="Open the inbox"
          >
            {data.waiting.items.map((item) => (
              <WaitingRow key={item.id} item={item} />
            ))}
            {data.waiting.total === 0 && <Nothing>No agent waits for an answer.</Nothing>}
          </Panel>
          <SpentPanel spent={data.spent} />
          <Panel title="Open runs" count={data.open.total} to="/runs?show=open" all="All open runs">
            {data.open.items.map((row) => (
              <RunLine key={row.runId} row={row} isAsking={asking.has(row.runId)} />
            ))}
            {data.open.total === 0 && <Nothing>No run is open. Start one above.</Nothing>}
          </Panel>
          <Panel
            title="Failed in the last seven days"
            count={data.failed.length}
            to="/runs?show=failed"
            all="All failed runs"
          >
            {data.failed.map((row) => (
              <RunLine key={row.runId} row={row} />
            ))}
            {data.failed.length === 0 && <Nothing>No run failed.</Nothing>}
          </Panel>
          {data.recent.length > 0 && (
            <Panel title="Finished" to="/runs" all="All runs">
              {data.recent.map((row) => (
                <RunLine key={row.runId} row={row} />
              ))}
            </Panel>
          )}
          {data.keptWork.length > 0 && (
            <Panel title="Changes that are not merged" count={data.keptWork.length}>
              {data.keptWork.map(({ delegationIds, runId, startedAt, title }) => (
                <Line
                  key={runId}
                  to={
                    delegationIds.length === 1
                      ? `/delegations/${delegationIds[0]}?tab=changes`
                      : `/runs/${runId}`
                  }
                  title={title}
                  mark={<StateBadge state="merging" word="Waits for a decision" isShort />}
                  aside={<Time at={startedAt} />}
                >
                  {delegationIds.length === 1
                    ? "A failed agent left changes. Merge or discard them."
                    : `${delegationIds.length} failed agents left changes. Merge or discard them.`}
                </Line>
              ))}
            </Panel>
          )}
          {data.workers !== null && (
            <Panel title="Workers" to="/system" all="All workers">
              <p className="px-4 py-2">
                {data.workers.alive} connected
                {data.workers.gone > 0 && (
                  <span className="text-warn">, {data.workers.gone} not responding</span>
                )}
              </p>
            </Panel>
          )}
        </div>
      )}
    </>
  );
}

function Nothing({ children }: { readonly children: string }) {
  return <p className="px-4 py-1 text-soft">{children}</p>;
}

interface LineProps {
  readonly to: string;
  readonly title: string;
  readonly mark?: ReactNode;
  readonly aside: ReactNode;
  readonly children?: ReactNode;
}

function Line({ to, title, mark, aside, children }: LineProps) {
  return (
    <Link to={to} className="row flex min-w-0 items-start gap-2 px-4 py-1.5 hover:bg-hover">
      {mark}
      <span className="flex min-w-0 flex-1 flex-col">
        <span className="truncate">
          <Text>{title}</Text>
        </span>
        <span className="truncate text-xs text-soft">{children}</span>
      </span>
      <span className="shrink-0 text-right text-xs whitespace-nowrap text-soft">{aside}</span>
    </Link>
  );
}

function RunLine({ row, isAsking }: { readonly row: RunRow; readonly isAsking?: boolean }) {
  const { cost, estimated, finishedAt, profile, runId, startedAt, startedBy, tokens } = row;
  return (
    <Line
      to={`/runs/${runId}`}
      title={row.title}
      mark={<StateBadge state={shownRunState(row, isAsking)} isShort />}
      aside={
        finishedAt === null && row.state === "running" ? (
          <Duration from={startedAt} to={null} />
        ) : (
          <Time at={finishedAt ?? startedAt} />
        )
      }
    >
      {profile !== null && (
        <>
          <Text most={64}>{profile}</Text> ·{" "}
        </>
      )}
      {startedBy !== null && (
        <>
          <Text most={64}>{startedBy}</Text> ·{" "}
        </>
      )}
      <Tokens tokens={tokens} estimated={estimated} /> tokens ·{" "}
      <Money dollars={cost} estimated={estimated} />
    </Line>
  );
}

function WaitingRow({ item }: { readonly item: ShownItem }) {
  const now = useNow(true) || Date.now();
  const deadline = item.ask && tellDeadline(item.ask.deadlineAt, now);
  return (
    <Line
      to={addressOf(item)}
      title={item.title}
      mark={<StateBadge state="asking" isShort />}
      aside={
        deadline && (
          <span className={deadline.isNear ? "font-semibold text-bad" : ""}>{deadline.text}</span>
        )
      }
    >
      <Text isMarkdown>{item.text}</Text>
    </Line>
  );
}
