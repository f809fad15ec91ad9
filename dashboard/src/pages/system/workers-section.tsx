import type { Operations } from "../../../../src/surfaces/client/mandate-client.ts";
import { Duration } from "../../components/amounts.tsx";
import { Problem } from "../../components/problem.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Text } from "../../components/text.tsx";
import { client } from "../../data/client.ts";
import { useLiveQuery } from "../../data/use-live-query.ts";
import { Mark, Section } from "./section.tsx";

type Workers = Operations["listWorkers"]["reply"];
type Worker = Workers["items"][number];

const pollMs = 3000;

const who: Column<Worker> = {
  title: "Worker",
  cell: ({ isSelf, worker }) => (
    <>
      <Text className="mr-2 font-mono text-xs">{worker}</Text>
      {isSelf && (
        <span className="inline-block text-xs whitespace-nowrap text-soft">this server</span>
      )}
    </>
  ),
};

/** A local worker has no record of its start: this server knows its own. */
function sinceColumn(selfStartedAt: number): Column<Worker> {
  return {
    title: "Up for",
    isSecondary: true,
    isShort: true,
    cell: ({ isAlive, isSelf, startedAt }) => {
      const from = startedAt ?? (isSelf ? selfStartedAt : null);
      return isAlive && from !== null ? <Duration from={from} to={null} /> : "–";
    },
  };
}

const place: Column<Worker> = {
  title: "Where",
  isSecondary: true,
  cell: ({ host, pid }) =>
    host === null ? (
      "–"
    ) : (
      <>
        <Text>{host}</Text> <span className="text-soft">process {pid}</span>
      </>
    ),
};

const delegations: Column<Worker> = {
  title: "Delegations",
  isNumber: true,
  cell: ({ delegations: count }) => count ?? "–",
};

const openRuns: Column<Worker> = {
  title: "Open runs",
  isNumber: true,
  cell: ({ openRuns: count }) => count,
};

function stateColumn(engine: Workers["engine"]): Column<Worker> {
  return {
    title: "State",
    isShort: true,
    cell: ({ goneSince, isAlive, takesWork }) => (
      <>
        <Mark
          isGood={isAlive}
          word={!isAlive ? "gone" : engine === "dbos" && !takesWork ? "serves" : "at work"}
        />
        {goneSince !== null && (
          <span className="ml-1 text-soft">
            for <Duration from={goneSince} to={null} />
          </span>
        )}
      </>
    ),
  };
}

/** Who shares the store, and whether anybody takes work. */
export function WorkersSection({ startedAt }: { readonly startedAt: number }) {
  const {
    data: value,
    error,
    refetch,
  } = useLiveQuery({
    key: ["workers"],
    everyMs: pollMs,
    load: (signal) => client.listWorkers({}, { signal }),
    changedBy: ({ type }) => ["run.started", "run.finished", "run.resumed"].includes(type),
  });
  return (
    <Section title="Workers">
      {error !== null && <Problem error={error} onRetry={refetch} />}
      {value !== undefined && (
        <>
          <Table
            label="Workers"
            columns={[
              ...[who, stateColumn(value.engine), place, sinceColumn(startedAt)],
              value.engine === "dbos" ? delegations : openRuns,
            ]}
            rows={value.items}
            keyOf={({ worker }) => worker}
          />
          <WorkerNote workers={value} />
        </>
      )}
    </Section>
  );
}

function WorkerNote({ workers: { engine, isComplete, items } }: { readonly workers: Workers }) {
  const isLost = items.some(({ isAlive, openRuns: count }) => !isAlive && count > 0);
  if (engine === "dbos" && !items.some(({ isAlive, takesWork }) => isAlive && takesWork)) {
    return (
      <p role="status" className="px-4 pt-2">
        <Mark isGood={false} word="No worker takes work." />{" "}
        <span className="text-soft">
          What is started waits in its queue. Start a worker, here or on any machine that reaches
          the database, with the same settings as this server:{" "}
          <code className="whitespace-nowrap font-mono text-xs text-ink">
            mandate worker --concurrency 10
          </code>
        </span>
      </p>
    );
  }
  if (engine === "local" && isLost) {
    return (
      <p className="px-4 pt-2 text-soft">
        Runs of a process that is gone are recovered when a server starts, or run by run:{" "}
        <code className="font-mono text-xs">mandate resume</code>
      </p>
    );
  }
  return isComplete ? null : <p className="px-4 pt-2 text-soft">There are more than are shown.</p>;
}
