import type { Operations } from "../../../../src/surfaces/client/mandate-client.ts";
import { Duration } from "../../components/amounts.tsx";
import { Text } from "../../components/text.tsx";
import { client } from "../../data/client.ts";
import { useLiveQuery } from "../../data/use-live-query.ts";
import { Link } from "../../router/link.tsx";
import { isEnforced, type SystemReport } from "./plug-in.ts";
import { QueuesSection } from "./queues-section.tsx";
import { Facts, Mark, Section } from "./section.tsx";
import { tellOpenWork } from "./tell-open-work.ts";
import { WorkersSection } from "./workers-section.tsx";

type Health = Operations["getHealth"]["reply"];

const workEvents = [
  "run.started",
  "run.finished",
  "agent.subagent_created",
  "agent.subagent_closed",
];

interface OverviewTabProps {
  readonly health: Health;
  readonly system: SystemReport | undefined;
}

export function OverviewTab({ health, system }: OverviewTabProps) {
  return (
    <div className="min-h-0 flex-1 overflow-auto pb-6">
      <Section title="Server">
        <Facts
          facts={[
            { name: "Version", value: health.version },
            { name: "Uptime", value: <Duration from={health.startedAt} to={null} /> },
            ...(system ? [{ name: "Node", value: system.node.version }] : []),
            {
              name: "Database",
              value: (
                <span className="flex flex-wrap gap-x-3">
                  <Mark
                    isGood={health.database.ok}
                    word={health.database.ok ? "healthy" : "failing"}
                  />
                  {health.database.problem !== null && <Text>{health.database.problem}</Text>}
                  {system && (
                    <span className="text-soft">
                      {system.database.synchronous === "full"
                        ? "committed events survive a power failure"
                        : "committed events survive a killed process, not a power failure"}
                    </span>
                  )}
                </span>
              ),
            },
          ]}
        />
      </Section>
      <WorkersSection startedAt={health.startedAt} />
      <QueuesSection />
      <OpenWork health={health} />
      {system && (
        <Section title="Enforcement on this machine">
          <Facts
            facts={(["files", "shell", "copies"] as const).map((part) => ({
              name: { files: "Files", shell: "Shell", copies: "Working copies" }[part],
              value: (
                <span className="flex flex-col">
                  <Mark
                    isGood={isEnforced(part, system.enforcement[part])}
                    word={
                      isEnforced(part, system.enforcement[part]) ? "enforced" : "not fully enforced"
                    }
                  />
                  <Text most={600} className="text-soft">
                    {system.enforcement[part]}
                  </Text>
                </span>
              ),
            }))}
          />
          <div className="pt-2">
            <Facts
              facts={Object.entries(system.programs).map(([name, isThere]) => ({
                name,
                value: <Mark isGood={isThere} word={isThere ? "found" : "not found"} />,
              }))}
            />
          </div>
        </Section>
      )}
      {system && (
        <Section title="Default limits">
          <Facts
            facts={[
              { name: "Tokens per run", value: system.limits.runTokens.toLocaleString("en") },
              { name: "Sub-agents per agent", value: system.limits.maxChildren },
              { name: "Delegation depth", value: system.limits.maxDepth },
              { name: "Agents at once", value: system.limits.maxConcurrent },
            ]}
          />
        </Section>
      )}
    </div>
  );
}

/** Open runs and agents, by what they wait for. */
function OpenWork({ health }: { readonly health: Health }) {
  const { data: value } = useLiveQuery({
    key: ["open-work"],
    load: (signal) => client.listDelegations({ open: true, limit: 200 }, { signal }),
    changedBy: ({ type }) => workEvents.includes(type),
  });
  const waits = value && tellOpenWork(value.items);
  return (
    <Section title="Open work">
      <Facts
        facts={[
          {
            name: "Open runs",
            value: (
              <Link to="/runs?show=open" className="text-accent hover:underline">
                {health.openRuns >= 1000 ? "1000 or more" : health.openRuns}
              </Link>
            ),
          },
          { name: "On this server", value: health.liveRuns },
          ...(waits ?? []).map(({ count, words }) => ({
            name: words,
            value: `${count}${value?.nextCursor === null ? "" : " or more"}`,
          })),
        ]}
      />
    </Section>
  );
}
