import { Tabs } from "../../components/tabs.tsx";
import { isRecordChange } from "../../data/is-record-change.ts";
import { useLiveQuery } from "../../data/use-live-query.ts";
import { isOperator, useMe } from "../../data/use-me.ts";
import { useQueryWord } from "../../router/router.ts";
import { PinsTab } from "./pins-tab.tsx";
import { loadProfiles, ProfilesTab } from "./profiles-tab.tsx";
import { RegistryTab } from "./registry-tab.tsx";
import { WaitingTab } from "./waiting-tab.tsx";

export function AgentsPage() {
  const me = useMe();
  const [tab, setTab] = useQueryWord("tab", "registry");
  const profiles = useLiveQuery({
    key: ["profiles", "waiting"],
    load: loadProfiles,
    changedBy: isRecordChange,
  });
  const waiting = profiles.data?.waiting.length ?? 0;
  const names = profiles.data?.items.map(({ name }) => name) ?? [];
  return (
    <>
      <h1 className="sr-only">Agents</h1>
      <Tabs
        label="Agents"
        chosen={tab}
        onChoose={setTab}
        tabs={[
          {
            id: "registry",
            label: "Registry",
            content: () => <RegistryTab mayEdit={isOperator(me)} profiles={names} />,
          },
          { id: "profiles", label: "Profiles", content: () => <ProfilesTab list={profiles} /> },
          { id: "pins", label: "Pins", content: () => <PinsTab me={me} profiles={names} /> },
          {
            id: "waiting",
            label: waiting === 0 ? "To trust" : `To trust (${waiting})`,
            content: () => <WaitingTab list={profiles} mayEdit={isOperator(me)} />,
          },
        ]}
      />
    </>
  );
}
