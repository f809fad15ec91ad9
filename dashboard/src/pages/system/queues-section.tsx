import type { Operations } from "../../../../src/surfaces/client/mandate-client.ts";
import { Duration } from "../../components/amounts.tsx";
import { Problem } from "../../components/problem.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Text } from "../../components/text.tsx";
import { client } from "../../data/client.ts";
import { useLiveQuery } from "../../data/use-live-query.ts";
import { Section } from "./section.tsx";
import { tellLimits } from "./tell-limits.ts";

type Queue = Operations["listQueues"]["reply"]["items"][number];

const pollMs = 3000;

const workEvents = ["agent.subagent_created", "agent.claimed", "agent.subagent_closed"];

const columns: readonly Column<Queue>[] = [
  { title: "Queue", cell: ({ name }) => <Text>{name}</Text> },
  {
    title: "Waiting",
    isNumber: true,
    cell: ({ waiting, waitingSince }) => (
      <>
        {waiting}
        {waitingSince !== null && (
          <span className="ml-1 text-soft">
            for <Duration from={waitingSince} to={null} />
          </span>
        )}
      </>
    ),
  },
  { title: "Running", isNumber: true, cell: ({ working }) => working },
  { title: "Suspended", isNumber: true, cell: ({ suspended }) => suspended },
  {
    title: "Limit",
    isSecondary: true,
    cell: ({ limits }) => <span className="text-soft">{tellLimits(limits)}</span>,
  },
];

/** The queues in which delegations wait for a worker, or how to set them up. */
export function QueuesSection() {
  const {
    data: value,
    error,
    refetch,
  } = useLiveQuery({
    key: ["queues"],
    everyMs: pollMs,
    load: (signal) => client.listQueues({}, { signal }),
    changedBy: ({ type }) => workEvents.includes(type),
  });
  return (
    <Section title="Queues">
      {error !== null && <Problem error={error} onRetry={refetch} />}
      {value?.items.length === 0 && (
        <p className="px-4 text-soft [&_code]:font-mono [&_code]:text-xs [&_code]:text-ink">
          No queues: the process that starts a run works on it. To spread runs over several
          machines, store them in Postgres (<code>MANDATE_DATABASE_URL</code>), set{" "}
          <code>MANDATE_ENGINE=dbos</code> for this server, and start workers:{" "}
          <code>mandate worker</code>
        </p>
      )}
      {value !== undefined && value.items.length > 0 && (
        <Table label="Queues" columns={columns} rows={value.items} keyOf={({ name }) => name} />
      )}
      {value?.isComplete === false && (
        <p className="px-4 pt-2 text-soft">Only the first thousand delegations are counted.</p>
      )}
    </Section>
  );
}
