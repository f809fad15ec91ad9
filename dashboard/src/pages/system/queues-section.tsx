import type { Operations } from "../../../../src/surfaces/client/mandate-client.ts";
import { Duration } from "../../components/amounts.tsx";
import { Problem } from "../../components/problem.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Text } from "../../components/text.tsx";
import { client } from "../../data/client.ts";
import { useResource } from "../../data/use-resource.ts";
import { Section } from "./section.tsx";
import { tellLimits } from "./tell-limits.ts";
import { useEvery } from "./use-every.ts";

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
  { title: "At work", isNumber: true, cell: ({ working }) => working },
  {
    title: "Most at once",
    isSecondary: true,
    cell: ({ limits }) => <span className="text-soft">{tellLimits(limits)}</span>,
  },
];

/** Where delegations wait for a worker, or how to have that. */
export function QueuesSection() {
  const { error, reload, value } = useResource(
    "queues",
    (signal) => client.listQueues({}, { signal }),
    { refreshOn: ({ type }) => workEvents.includes(type) },
  );
  useEvery(pollMs, reload);
  return (
    <Section title="Queues">
      {error !== undefined && <Problem error={error} onRetry={reload} />}
      {value?.items.length === 0 && (
        <p className="px-4 text-soft [&_code]:font-mono [&_code]:text-xs [&_code]:text-ink">
          There are none: the process that starts a run works on it. To have many machines work on
          runs, keep them in Postgres (<code>MANDATE_DATABASE_URL</code>), set{" "}
          <code>MANDATE_ENGINE=dbos</code> for this server, and start any number of workers:{" "}
          <code>mandate worker</code>
        </p>
      )}
      {value !== undefined && value.items.length > 0 && (
        <Table label="Queues" columns={columns} rows={value.items} keyOf={({ name }) => name} />
      )}
      {value?.isComplete === false && (
        <p className="px-4 pt-2 text-soft">There are more than a thousand: not all were counted.</p>
      )}
    </Section>
  );
}
