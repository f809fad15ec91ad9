import { useState } from "react";
import { harmlessLine } from "../../../../src/sessions/harmless-text.ts";
import type { Operations } from "../../../../src/surfaces/client/mandate-client.ts";
import { Button } from "../../components/button.tsx";
import { Confirm } from "../../components/confirm.tsx";
import { Empty } from "../../components/empty.tsx";
import { Problem } from "../../components/problem.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Text } from "../../components/text.tsx";
import { showToast } from "../../components/toast.tsx";
import { client } from "../../data/client.ts";
import { isRecordChange } from "../../data/is-record-change.ts";
import { useAction } from "../../data/use-action.ts";
import { useLiveQuery } from "../../data/use-live-query.ts";
import { Link } from "../../router/link.tsx";
import { AgentForm } from "./agent-form.tsx";
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
        {!profileExists && <span className="ml-2 text-xs text-bad">no such profile</span>}
      </>
    ),
  },
  { title: "Description", cell: ({ description }) => <Text>{description}</Text> },
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

interface RegistryTabProps {
  readonly mayEdit: boolean;
  readonly profiles: readonly string[];
}

/** `form`: the handle that is changed; null: a new one. */
type Opened = { readonly form: string | null } | "json" | undefined;

export function RegistryTab({ mayEdit, profiles }: RegistryTabProps) {
  const agents = useLiveQuery({
    key: ["agents"],
    load: (signal) => client.listAgents({}, { signal }),
    changedBy: isRecordChange,
  });
  const registry = useLiveQuery({
    key: ["registry"],
    load: (signal) => client.getRegistry({}, { signal }),
    changedBy: isRecordChange,
  });
  const [opened, setOpened] = useState<Opened>();
  const [removed, setRemoved] = useState<string | null>(null);
  const remove = useAction(async (agentId: string) => {
    await client.unregisterAgent({ agentId });
    setRemoved(null);
    showToast(`${agentId} is removed.`);
    void agents.refetch();
  });
  const close = (): void => {
    setOpened(undefined);
    void agents.refetch();
    void registry.refetch();
  };
  if (opened === "json") {
    return <RegistryEditor mayEdit={mayEdit} onSaved={agents.refetch} onClose={close} />;
  }
  if (opened !== undefined && registry.data !== undefined) {
    const stored = registry.data;
    return <AgentForm registry={stored} agentId={opened.form} profiles={profiles} onDone={close} />;
  }
  const actions: Column<AgentRow> = {
    title: "Change",
    isShort: true,
    cell: ({ agentId }) => (
      <span className="flex gap-3">
        <button
          type="button"
          className="text-accent hover:underline"
          aria-label={`Edit ${harmlessLine(agentId, 64)}`}
          onClick={() => setOpened({ form: agentId })}
        >
          Edit
        </button>
        <button
          type="button"
          className="text-accent hover:underline"
          aria-label={`Remove ${harmlessLine(agentId, 64)}`}
          onClick={() => setRemoved(agentId)}
        >
          Remove
        </button>
      </span>
    ),
  };
  return (
    <>
      <div className="flex shrink-0 items-center gap-3 border-b border-line px-4 py-1.5">
        <p className="text-soft max-sm:hidden">Agents that can be delegated to by a handle.</p>
        <span className="ml-auto flex gap-2">
          {mayEdit && (
            <Button tone="main" onClick={() => setOpened({ form: null })}>
              Register an agent
            </Button>
          )}
          <Button onClick={() => setOpened("json")}>
            {mayEdit ? "Edit as JSON" : "Show as JSON"}
          </Button>
        </span>
      </div>
      {agents.error !== null && <Problem error={agents.error} onRetry={agents.refetch} />}
      {agents.data?.items.length === 0 ? (
        <Empty title="No handles yet">
          A handle such as <code>@writer</code> names a profile, with a description by which agents
          choose a delegate. Register one above, or type as a command:{" "}
          <code>/agents register @writer | writer | Writes texts.</code>
        </Empty>
      ) : (
        agents.data && (
          <div className="overflow-auto">
            <Table
              label="Registered agents"
              columns={mayEdit ? [...columns, actions] : columns}
              rows={agents.data.items}
              keyOf={({ agentId }) => agentId}
            />
          </div>
        )
      )}
      {removed !== null && (
        <Confirm
          title={`Remove ${harmlessLine(removed, 64)}`}
          action="Remove"
          isDangerous
          isBusy={remove.isBusy}
          onConfirm={() => void remove.run(removed)}
          onClose={() => setRemoved(null)}
        >
          Its profile stays. Runs that use the handle continue.
        </Confirm>
      )}
    </>
  );
}
