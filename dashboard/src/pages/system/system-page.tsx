import { Problem } from "../../components/problem.tsx";
import { Tabs } from "../../components/tabs.tsx";
import { client } from "../../data/client.ts";
import { useLiveQuery } from "../../data/use-live-query.ts";
import { useQueryWord } from "../../router/router.ts";
import { FoldersTab } from "./folders-tab.tsx";
import { MemoryTab } from "./memory-tab.tsx";
import { ModelsTab } from "./models-tab.tsx";
import { OverviewTab } from "./overview-tab.tsx";

export function SystemPage() {
  const [tab, setTab] = useQueryWord("tab", "overview");
  const health = useLiveQuery({
    key: ["health"],
    load: (signal) => client.getHealth({}, { signal }),
    changedBy: ({ type }) => ["run.started", "run.finished", "run.resumed"].includes(type),
  });
  const system = useLiveQuery({
    key: ["system"],
    load: (signal) => client.getSystem({}, { signal }),
  });
  const error = health.error ?? system.error;
  return (
    <>
      <h1 className="sr-only">System</h1>
      {error !== null && <Problem error={error} onRetry={health.refetch} />}
      <Tabs
        label="System"
        chosen={tab}
        onChoose={setTab}
        tabs={[
          {
            id: "overview",
            label: "Overview",
            content: () => health.data && <OverviewTab health={health.data} system={system.data} />,
          },
          {
            id: "models",
            label: "Models",
            content: () => system.data && <ModelsTab models={system.data.models} />,
          },
          { id: "folders", label: "Folders", content: () => <FoldersTab /> },
          { id: "memory", label: "Memory", content: () => <MemoryTab /> },
        ]}
      />
    </>
  );
}
