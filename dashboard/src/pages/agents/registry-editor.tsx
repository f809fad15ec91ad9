import { useEffect, useState } from "react";
import { MandateApiError } from "../../../../src/surfaces/client/mandate-client.ts";
import { Time } from "../../components/amounts.tsx";
import { Button } from "../../components/button.tsx";
import { Problem } from "../../components/problem.tsx";
import { Text } from "../../components/text.tsx";
import { showToast } from "../../components/toast.tsx";
import { client } from "../../data/client.ts";
import { isRecordChange } from "../../data/is-record-change.ts";
import { useAction } from "../../data/use-action.ts";
import { useLiveQuery } from "../../data/use-live-query.ts";
import { useUnsaved } from "../../router/unsaved.ts";
import { CodeEditor } from "./code-editor.tsx";
import { ConflictView } from "./conflict-view.tsx";
import { placeProblems, readRegistry, type TextProblem, writeRegistry } from "./registry-text.ts";

interface Draft {
  /** The version that it was written on. */
  readonly version: number;
  readonly original: string;
  readonly text: string;
}

interface RegistryEditorProps {
  readonly mayEdit: boolean;
  readonly onSaved: () => void;
  readonly onClose: () => void;
}

/** The registry as JSON. Saving never overwrites a newer version. */
export function RegistryEditor({ mayEdit, onSaved, onClose }: RegistryEditorProps) {
  const registry = useLiveQuery({
    key: ["registry"],
    load: (signal) => client.getRegistry({}, { signal }),
    changedBy: isRecordChange,
  });
  const [draft, setDraft] = useState<Draft>();
  const [problems, setProblems] = useState<readonly TextProblem[]>([]);
  const [conflict, setConflict] = useState<{ version: number; text: string }>();
  const stored = registry.data;
  const isChanged = draft !== undefined && draft.text !== draft.original;
  useUnsaved(isChanged);
  useEffect(() => {
    if (stored === undefined) return;
    const original = writeRegistry(stored.value);
    // Untouched text follows the stored version; edited text waits for a decision.
    setDraft((now) => {
      if (now !== undefined && (now.text !== now.original || now.version >= stored.version))
        return now;
      return { version: stored.version, original, text: original };
    });
  }, [stored]);

  const save = useAction(async (): Promise<void> => {
    if (draft === undefined) return;
    const read = readRegistry(draft.text);
    if ("problem" in read) return setProblems([read.problem]);
    try {
      const saved = await client.putRegistry({
        value: read.value,
        expectedVersion: draft.version,
      });
      const text = writeRegistry(saved.value);
      setDraft({ version: saved.version, original: text, text });
      setProblems([]);
      showToast(`Saved as version ${saved.version}.`);
      onSaved();
    } catch (error) {
      const {
        current,
        detail = "",
        status,
      } = error instanceof MandateApiError
        ? error.problem
        : ({} as Partial<MandateApiError["problem"]>);
      if (current !== undefined) {
        setConflict({ version: current.version, text: writeRegistry(current.value) });
      } else if (status === 422) setProblems(placeProblems(detail, draft.text));
      else throw error;
    }
  });

  if (registry.error !== null) return <Problem error={registry.error} onRetry={registry.refetch} />;
  if (draft === undefined) return null;
  const settle = (next: Draft): void => {
    setDraft(next);
    setConflict(undefined);
    setProblems([]);
  };
  return (
    <section aria-label="The registry as JSON" className="flex min-h-0 flex-1 flex-col gap-2 p-4">
      {conflict === undefined ? (
        <CodeEditor
          label="The registry as JSON"
          text={draft.text}
          problems={problems}
          isReadOnly={!mayEdit}
          onChange={(text) => {
            setDraft({ ...draft, text });
            setProblems([]);
          }}
        />
      ) : (
        <ConflictView
          version={conflict.version}
          theirs={conflict.text}
          mine={draft.text}
          onTakeTheirs={() =>
            settle({ version: conflict.version, original: conflict.text, text: conflict.text })
          }
          onKeepMine={() =>
            settle({ version: conflict.version, original: conflict.text, text: draft.text })
          }
        />
      )}
      <div className="flex shrink-0 flex-wrap items-center gap-2">
        {mayEdit && conflict === undefined && (
          <Button tone="main" disabled={!isChanged || save.isBusy} onClick={() => void save.run()}>
            Save
          </Button>
        )}
        <Button onClick={onClose}>{isChanged ? "Close without saving" : "Close"}</Button>
        <span className="text-xs text-soft">
          Version {draft.version}
          {stored?.updatedAt != null && stored.version === draft.version && (
            <>
              , changed <Time at={stored.updatedAt} /> by <Text>{stored.updatedBy ?? ""}</Text>
            </>
          )}
          {isChanged && " · changed here"}
          {stored !== undefined && stored.version > draft.version && (
            <span className="text-warn">
              {" "}
              · version {stored.version} was saved in between; saving yours will show both
            </span>
          )}
        </span>
      </div>
    </section>
  );
}
