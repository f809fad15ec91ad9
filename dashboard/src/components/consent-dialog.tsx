import { useState } from "react";
import { client } from "../data/client.ts";
import { type ConsentMode, type FolderRow, modeWords } from "../data/folders.ts";
import { queryClient } from "../data/query-client.ts";
import { useAction } from "../data/use-action.ts";
import { Confirm } from "./confirm.tsx";
import { Text } from "./text.tsx";
import { showToast } from "./toast.tsx";

interface ConsentDialogProps {
  readonly row: FolderRow;
  /** What follows the answer: "Start run". */
  readonly action?: string;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

/** How may agents work in a folder? The same question as in the terminal. */
export function ConsentDialog({ action = "Save", onClose, onDone, row }: ConsentDialogProps) {
  const { folder } = row;
  const [mode, setMode] = useState<ConsentMode | null>(row.mode);
  const save = useAction(async () => {
    if (mode === null) return;
    const answered = await client.consentToFolder({ folder, mode });
    await queryClient.invalidateQueries({ queryKey: ["folders"] });
    if (answered.mode !== null && answered.mode !== mode) {
      const word = modeWords[answered.mode].label.toLowerCase();
      showToast(`Agents work ${word} there: this server allows no more.`);
    }
    onDone();
  });
  return (
    <Confirm
      title={row.mode === null ? "Agents have not worked in this folder before" : "Change consent"}
      action={action}
      isBusy={save.isBusy || mode === null}
      onConfirm={() => void save.run()}
      onClose={onClose}
    >
      <Text className="font-mono text-xs wrap-anywhere text-ink" most={4096}>
        {folder}
      </Text>
      <fieldset className="mt-2 flex flex-col gap-2">
        <legend className="mb-1">
          Agents can read its files and run commands in it. How may they work here?
        </legend>
        {Object.entries(modeWords).map(([each, { detail, label }]) => (
          <label key={each} className="flex items-start gap-2">
            <input
              type="radio"
              name="mode"
              className="mt-1"
              checked={mode === each}
              onChange={() => setMode(each as ConsentMode)}
            />
            <span>
              <span className="font-medium text-ink">{label}</span>
              <br />
              {detail}
            </span>
          </label>
        ))}
      </fieldset>
      <p className="mt-2 text-xs">
        Your answer holds for this folder and everything below it, until you change it under System,
        Folders.
      </p>
    </Confirm>
  );
}
