import { harmlessLine } from "../../../../src/sessions/harmless-text.ts";
import type { Operations } from "../../../../src/surfaces/client/mandate-client.ts";
import { type Column, Table } from "../../components/table.tsx";
import { Text } from "../../components/text.tsx";
import { showToast } from "../../components/toast.tsx";
import { client } from "../../data/client.ts";
import { isRecordChange } from "../../data/is-record-change.ts";
import { useAction } from "../../data/use-action.ts";
import { useLiveQuery } from "../../data/use-live-query.ts";

type Trusted = Operations["listTrusted"]["reply"]["items"][number];

const columns: readonly Column<Trusted>[] = [
  { title: "What", cell: ({ name }) => <Text>{name}</Text> },
  { title: "File", cell: ({ file }) => <Text className="font-mono text-xs">{file}</Text> },
  {
    title: "SHA-256",
    isSecondary: true,
    cell: ({ hash }) => <span className="font-mono text-xs text-soft">{hash.slice(0, 12)}</span>,
  },
];

/** Trusted content, and how to revoke the trust. */
export function TrustedList({ mayEdit }: { readonly mayEdit: boolean }) {
  const { data: value, refetch } = useLiveQuery({
    key: ["trusted"],
    load: (signal) => client.listTrusted({}, { signal }),
    changedBy: isRecordChange,
  });
  const withdraw = useAction(async ({ hash, name }: Trusted) => {
    await client.withdrawTrust({ hash });
    showToast(`${name} is not trusted any more.`);
    void refetch();
  });
  if (value === undefined || value.items.length === 0) return null;
  const removing: Column<Trusted> = {
    title: "Trust",
    isShort: true,
    cell: (row) => (
      <button
        type="button"
        className="text-accent hover:underline"
        aria-label={`Stop trusting ${harmlessLine(row.name, 64)}`}
        disabled={withdraw.isBusy}
        onClick={() => void withdraw.run(row)}
      >
        Stop trusting
      </button>
    ),
  };
  return (
    <section>
      <h2 className="px-4 pt-4 pb-2 font-semibold">Trusted</h2>
      <Table
        label="Trusted"
        columns={mayEdit ? [...columns, removing] : columns}
        rows={value.items}
        keyOf={({ hash }) => hash}
      />
    </section>
  );
}
