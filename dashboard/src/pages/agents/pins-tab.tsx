import { useState } from "react";
import { harmlessLine } from "../../../../src/sessions/harmless-text.ts";
import { MandateApiError } from "../../../../src/surfaces/client/mandate-client.ts";
import { Time } from "../../components/amounts.tsx";
import { Empty } from "../../components/empty.tsx";
import { Problem } from "../../components/problem.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Text } from "../../components/text.tsx";
import { showToast } from "../../components/toast.tsx";
import { client } from "../../data/client.ts";
import { isRecordChange } from "../../data/is-record-change.ts";
import { useAction } from "../../data/use-action.ts";
import { useLiveQuery } from "../../data/use-live-query.ts";
import type { Me } from "../../data/use-me.ts";
import { PinForm } from "./pin-form.tsx";
import { keyOfPlace, mayRemove, type PinPlace, type PinRow } from "./pin-scopes.ts";

interface PinsTabProps {
  readonly me: Me | undefined;
  readonly profiles: readonly string[];
}

/** The default profiles: per session, person, folder, or for all. */
export function PinsTab({ me, profiles }: PinsTabProps) {
  const pins = useLiveQuery({
    key: ["pins"],
    load: (signal) => client.listPins({}, { signal }),
    changedBy: isRecordChange,
  });
  const [conflict, setConflict] = useState<string | null>(null);
  const items = pins.data?.items ?? [];
  const save = useAction(async (place: PinPlace, profileId: string) => {
    const { id, scope } = place;
    const known = items.find((one) => keyOfPlace(one) === keyOfPlace(place));
    try {
      await client.putPin({
        scope,
        ...(id !== null && { id }),
        profileId,
        expectedVersion: known?.version ?? 0,
      });
      setConflict(null);
      showToast("Pinned.");
    } catch (error) {
      const { current } = error instanceof MandateApiError ? error.problem : {};
      if (current === undefined) throw error;
      setConflict(tellConflict(current.value));
    } finally {
      void pins.refetch();
    }
  });
  const remove = useAction(async ({ id, scope, version }: PinRow) => {
    try {
      await client.deletePin({ scope, ...(id !== null && { id }), expectedVersion: version });
    } finally {
      void pins.refetch();
    }
  });
  if (pins.error !== null) return <Problem error={pins.error} onRetry={pins.refetch} />;
  if (pins.data === undefined) return null;
  const { effective, problem } = pins.data;
  return (
    <div className="overflow-auto">
      <div className="flex flex-col gap-3 px-4 py-3">
        <p className="wrap-anywhere">
          {effective === null ? (
            "A pin chooses the agent of runs that name none. No pin applies to you: such runs use the default agent."
          ) : (
            <>
              Runs without an agent use <Text className="font-semibold">{effective.profileId}</Text>{" "}
              (the {effective.scope} pin).
            </>
          )}
        </p>
        {problem !== null && (
          <p role="alert" className="wrap-anywhere text-bad">
            <Text most={1000}>{problem}</Text>
          </p>
        )}
        <PinForm
          me={me}
          profiles={profiles}
          isBusy={save.isBusy}
          conflict={conflict}
          onSave={(place, profileId) => void save.run(place, profileId)}
          onTakeTheirs={() => setConflict(null)}
        />
      </div>
      {items.length === 0 ? (
        <Empty title="No pins">
          A pin sets the default profile of a session, a user, a folder or everyone. The narrowest
          one counts. Pin one above, or type as a command: <code>/agents pin @writer --global</code>
        </Empty>
      ) : (
        <Table
          label="Pins of every scope"
          columns={[
            ...columns,
            {
              title: "Remove",
              isShort: true,
              cell: (pin) =>
                mayRemove(pin, me) && (
                  <button
                    type="button"
                    className="text-accent hover:underline"
                    aria-label={`Remove the ${pin.scope} pin of ${harmlessLine(pin.profileId ?? "?", 64)}`}
                    disabled={remove.isBusy}
                    onClick={() => void remove.run(pin)}
                  >
                    Remove
                  </button>
                ),
            },
          ]}
          rows={items}
          keyOf={({ record }) => record}
        />
      )}
    </div>
  );
}

const columns: readonly Column<PinRow>[] = [
  { title: "Scope", isShort: true, cell: ({ scope }) => scope },
  {
    title: "Applies to",
    cell: ({ id }) => <Text className="font-mono text-xs">{id ?? "all users"}</Text>,
  },
  {
    title: "Agent",
    cell: ({ problem, profileId }) => (
      <>
        <Text>{profileId ?? "?"}</Text>
        {problem !== null && (
          <span className="text-bad">
            {" "}
            broken: <Text most={500}>{problem}</Text>
          </span>
        )}
      </>
    ),
  },
  {
    title: "Changed",
    isSecondary: true,
    cell: ({ updatedAt, updatedBy, version }) => (
      <span className="text-soft">
        <Time at={updatedAt} /> by <Text>{updatedBy}</Text>, version {version}
      </span>
    ),
  },
];

function tellConflict(value: unknown): string {
  const { profileId } = (value ?? {}) as { readonly profileId?: unknown };
  return typeof profileId === "string" ? profileId : "";
}
