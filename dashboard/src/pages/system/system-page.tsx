import { Problem } from "../../components/problem.tsx";
import { Tabs } from "../../components/tabs.tsx";
import { client } from "../../data/client.ts";
import { useResource } from "../../data/use-resource.ts";
import { useQueryWord } from "../../router/router.ts";
import { MemoryTab } from "./memory-tab.tsx";
import { ModelsTab } from "./models-tab.tsx";
import { OverviewTab } from "./overview-tab.tsx";

export function SystemPage() {
  const [tab, setTab] = useQueryWord("tab", "overview");
  const health = useResource("health", (signal) => client.getHealth({}, { signal }), {
    refreshOn: ({ type }) => ["run.started", "run.finished", "run.resumed"].includes(type),
  });
  const system = useResource("system", (signal) => client.getSystem({}, { signal }));
  const error = health.error ?? system.error;
  return (
    <>
      <h1 className="sr-only">System</h1>
      {error !== undefined && <Problem error={error} onRetry={health.reload} />}
      <Tabs
        label="System"
        chosen={tab}
        onChoose={setTab}
        tabs={[
          {
            id: "overview",
            label: "Overview",
            content: () =>
              health.value && <OverviewTab health={health.value} system={system.value} />,
          },
          {
            id: "models",
            label: "Models",
            content: () => system.value && <ModelsTab models={system.value.models} />,
          },
          { id: "memory", label: "Memory", content: () => <MemoryTab /> },
        ]}
      />
    </>
  );
}
