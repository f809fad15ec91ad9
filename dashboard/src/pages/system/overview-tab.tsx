import type { Operations } from "../../../../src/surfaces/client/mandate-client.ts";
import { Duration } from "../../components/amounts.tsx";
import { Text } from "../../components/text.tsx";
import { client } from "../../data/client.ts";
import { useResource } from "../../data/use-resource.ts";
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
            { name: "Up for", value: <Duration from={health.startedAt} to={null} /> },
            ...(system ? [{ name: "Node", value: system.node.version }] : []),
            {
              name: "Database",
              value: (
                <span className="flex flex-wrap gap-x-3">
                  <Mark
                    isGood={health.database.ok}
                    word={health.database.ok ? "works" : "broken"}
                  />
                  {health.database.problem !== null && <Text>{health.database.problem}</Text>}
                  {system && (
                    <span className="text-soft">
                      {system.database.synchronous === "full"
                        ? "what is committed survives a power cut"
                        : "what is committed survives a killed process"}
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
        <Section title="What this machine can enforce">
          <Facts
            facts={(["files", "shell", "copies"] as const).map((part) => ({
              name: { files: "Files", shell: "Shell", copies: "Own copies" }[part],
              value: (
                <span className="flex flex-col">
                  <Mark
                    isGood={isEnforced(part, system.enforcement[part])}
                    word={
                      isEnforced(part, system.enforcement[part])
                        ? "enforced"
                        : "not offered in full"
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
        <Section title="Limits">
          <Facts
            facts={[
              { name: "Tokens of a run", value: system.limits.runTokens.toLocaleString("en") },
              { name: "Children of one", value: system.limits.maxChildren },
              { name: "Depth", value: system.limits.maxDepth },
              { name: "At once", value: system.limits.maxConcurrent },
            ]}
          />
        </Section>
      )}
    </div>
  );
}

/** What is open, and what it waits on. */
function OpenWork({ health }: { readonly health: Health }) {
  const { value } = useResource(
    "open-work",
    (signal) => client.listDelegations({ open: true, limit: 200 }, { signal }),
    { refreshOn: ({ type }) => workEvents.includes(type) },
  );
  const waits = value && tellOpenWork(value.items);
  return (
    <Section title="Work">
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
          { name: "Of this server", value: health.liveRuns },
          ...(waits ?? []).map(({ count, words }) => ({
            name: words,
            value: `${count}${value?.nextCursor === null ? "" : " or more"}`,
          })),
        ]}
      />
    </Section>
  );
}
