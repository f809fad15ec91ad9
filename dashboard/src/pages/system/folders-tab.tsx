import { useState } from "react";
import { Time } from "../../components/amounts.tsx";
import { Button } from "../../components/button.tsx";
import { ConsentDialog } from "../../components/consent-dialog.tsx";
import { Empty } from "../../components/empty.tsx";
import { Problem } from "../../components/problem.tsx";
import { Table } from "../../components/table.tsx";
import { Text } from "../../components/text.tsx";
import { client } from "../../data/client.ts";
import { type FolderRow, modeWords, useFolders } from "../../data/folders.ts";
import { useAction } from "../../data/use-action.ts";
import { isOperator, useMe } from "../../data/use-me.ts";
import { Mark } from "./section.tsx";

/** In which folders this person's agents may work, and how. */
export function FoldersTab() {
  const mayDecide = isOperator(useMe());
  const { data, error, refetch } = useFolders();
  const [changing, setChanging] = useState<FolderRow | null>(null);
  const forget = useAction(async (folder: string) => {
    await client.forgetFolder({ folder });
    await refetch();
  });
  if (error !== null) return <Problem error={error} onRetry={refetch} />;
  if (data?.items.length === 0) {
    return (
      <Empty title="No folders">
        This server serves no folder, so its agents have no files. Start it with{" "}
        <code>--workspace DIR</code>.
      </Empty>
    );
  }
  return (
    <div className="min-h-0 flex-1 overflow-auto">
      <p className="max-w-2xl px-4 py-3 text-soft">
        Agents work in a folder after you consented to it. Your answer holds for your runs, in the
        folder and everything below it; the nearest answer decides.
      </p>
      <Table
        label="Folders"
        rows={data?.items ?? []}
        keyOf={({ folder }) => folder}
        columns={[
          {
            title: "Folder",
            cell: ({ folder }) => (
              <Text className="font-mono text-xs" most={4096}>
                {folder}
              </Text>
            ),
          },
          {
            title: "Agents work",
            isShort: true,
            cell: ({ mode }) =>
              mode === null ? <Mark isGood={false} word="Not yet" /> : modeWords[mode].label,
          },
          {
            title: "Answered",
            isShort: true,
            isSecondary: true,
            cell: ({ answeredAt, mode }) =>
              answeredAt !== null ? (
                <Time at={answeredAt} />
              ) : mode === null ? (
                "–"
              ) : (
                "when the server was started"
              ),
          },
          {
            title: "Decide",
            isShort: true,
            cell: (row) =>
              mayDecide && (
                <span className="flex gap-2 max-sm:flex-col">
                  <Button onClick={() => setChanging(row)}>
                    {row.mode === null ? "Consent…" : "Change…"}
                  </Button>
                  {row.answeredAt !== null && (
                    <Button
                      disabled={forget.isBusy}
                      title="The next run asks again"
                      onClick={() => void forget.run(row.folder)}
                    >
                      Forget
                    </Button>
                  )}
                </span>
              ),
          },
        ]}
      />
      {changing !== null && (
        <ConsentDialog
          row={changing}
          onDone={() => setChanging(null)}
          onClose={() => setChanging(null)}
        />
      )}
    </div>
  );
}
