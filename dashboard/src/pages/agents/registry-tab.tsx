import { useState } from "react";
import type { Operations } from "../../../../src/surfaces/client/mandate-client.ts";
import { Button } from "../../components/button.tsx";
import { Empty } from "../../components/empty.tsx";
import { Problem } from "../../components/problem.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Text } from "../../components/text.tsx";
import { client } from "../../data/client.ts";
import { isRecordChange } from "../../data/is-record-change.ts";
import { useResource } from "../../data/use-resource.ts";
import { Link } from "../../router/link.tsx";
import { RegistryEditor } from "./registry-editor.tsx";

type AgentRow = Operations["listAgents"]["reply"]["items"][number];

/** Names in one line, small: there may be thousands. */
const mostTags = 12;

const columns: readonly Column<AgentRow>[] = [
  {
    title: "Handle",
    cell: ({ agentId }) => <Text className="font-mono text-xs font-semibold">{agentId}</Text>,
  },
  {
    title: "Profile",
    cell: ({ profileExists, profileId }) => (
      <>
        <Link
          to={`/agents?tab=profiles&profile=${encodeURIComponent(profileId)}`}
          className="text-accent hover:underline"
        >
          <Text>{profileId}</Text>
        </Link>
        {!profileExists && <span className="ml-2 text-xs text-bad">not there</span>}
      </>
    ),
  },
  { title: "What it is for", cell: ({ description }) => <Text>{description}</Text> },
  {
    title: "Model",
    isSecondary: true,
    cell: ({ model }) => <Text className="font-mono text-xs">{model ?? "none configured"}</Text>,
  },
  {
    title: "Tags",
    isSecondary: true,
    cell: ({ tags = [] }) => (
      <span className="flex flex-wrap gap-1">
        {tags.slice(0, mostTags).map((tag) => (
          <span key={tag} className="rounded-sm border border-line px-1 text-xs text-soft">
            <Text most={40}>{tag}</Text>
          </span>
        ))}
      </span>
    ),
  },
];

export function RegistryTab({ mayEdit }: { readonly mayEdit: boolean }) {
  const agents = useResource("agents", (signal) => client.listAgents({}, { signal }), {
    refreshOn: isRecordChange,
  });
  const [isEditing, setEditing] = useState(false);
  if (isEditing) {
    return (
      <RegistryEditor mayEdit={mayEdit} onSaved={agents.reload} onClose={() => setEditing(false)} />
    );
  }
  return (
    <>
      <div className="flex shrink-0 items-center gap-3 border-b border-line px-4 py-1.5">
        <p className="text-soft max-sm:hidden">Who can be delegated to, by which name.</p>
        <Button className="ml-auto" onClick={() => setEditing(true)}>
          {mayEdit ? "Edit as JSON" : "Show as JSON"}
        </Button>
      </div>
      {agents.error !== undefined && <Problem error={agents.error} onRetry={agents.reload} />}
      {agents.value?.items.length === 0 ? (
        <Empty title="No handles yet">
          A handle such as <code>@writer</code> stands for a profile, with a description by which
          agents choose a delegate. Register one by editing the JSON above, or type{" "}
          <code>/agents register @writer | writer | Writes texts.</code>
        </Empty>
      ) : (
        agents.value && (
          <div className="overflow-auto">
            <Table
              label="Registered agents"
              columns={columns}
              rows={agents.value.items}
              keyOf={({ agentId }) => agentId}
            />
          </div>
        )
      )}
    </>
  );
}
