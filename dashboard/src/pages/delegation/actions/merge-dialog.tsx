import { useState } from "react";
import { countOf } from "../../../../../src/surfaces/cli/amounts.ts";
import type { Operations } from "../../../../../src/surfaces/client/mandate-client.ts";
import { Confirm } from "../../../components/confirm.tsx";
import { Text } from "../../../components/text.tsx";
import { showToast } from "../../../components/toast.tsx";
import { client } from "../../../data/client.ts";
import { useAction } from "../../../data/use-action.ts";
import { type DelegationDiff, reloadDelegation } from "../delegation-detail.ts";

interface MergeDialogProps {
  readonly delegationId: string;
  readonly diff: DelegationDiff;
  readonly into: string | null;
  readonly onClose: () => void;
}

type Merged = Operations["mergeDelegation"]["reply"];

const liftable = [
  ["anyPath", "Allow paths outside its contract"],
  ["skipChecks", "Skip the contract's check commands"],
  ["withConfiguration", "Allow files that configure tools and agents"],
] as const;

type Lifted = (typeof liftable)[number][0];

/** By the rules of its contract, unless a person lifts one. What stands against it is said here. */
export function MergeDialog({ delegationId, diff, into, onClose }: MergeDialogProps) {
  const [lifted, setLifted] = useState<ReadonlySet<Lifted>>(new Set());
  const [refused, setRefused] = useState<Merged | null>(null);
  const merge = useAction(async () => {
    const options = Object.fromEntries([...lifted].map((name) => [name, true]));
    const merged = await client.mergeDelegation({ delegationId, ...options });
    if (merged.status !== "merged") {
      setRefused(merged);
      return;
    }
    onClose();
    showToast(`Merged ${countOf(merged.files.length, "file")} into ${merged.into}.`);
    await reloadDelegation(delegationId);
  });
  const toggle = (name: Lifted): void => {
    const next = new Set(lifted);
    if (!next.delete(name)) next.add(name);
    setLifted(next);
  };
  return (
    <Confirm
      title={`Merge the changes of ${delegationId}?`}
      action="Merge"
      isBusy={merge.isBusy}
      onConfirm={() => void merge.run()}
      onClose={onClose}
    >
      <p>
        Merge {countOf(diff.files.length, "file")} (+{diff.added} −{diff.removed}) into{" "}
        {into === null ? (
          "the folder that it was copied from"
        ) : (
          <Text className="font-mono text-xs text-ink" most={400}>
            {into}
          </Text>
        )}
        . All files are merged or none, under the rules of its contract.
      </p>
      <fieldset className="mt-2">
        <legend className="text-xs">Override checks</legend>
        {liftable.map(([name, label]) => (
          <label key={name} className="flex items-center gap-2 text-ink">
            <input type="checkbox" checked={lifted.has(name)} onChange={() => toggle(name)} />
            {label}
          </label>
        ))}
      </fieldset>
      {refused && (
        <div
          role="alert"
          className="mt-3 rounded-md border border-line border-l-[3px] border-l-bad px-3 py-2 text-ink wrap-anywhere"
        >
          <p className="font-semibold text-bad">Not merged: {refused.status}</p>
          <Text most={1000}>{refused.sentence ?? ""}</Text>
          <ul className="max-h-32 overflow-y-auto">
            {refused.files.slice(0, 50).map((path) => (
              <li key={path}>
                <Text className="font-mono text-xs">{path}</Text>
              </li>
            ))}
          </ul>
        </div>
      )}
    </Confirm>
  );
}
