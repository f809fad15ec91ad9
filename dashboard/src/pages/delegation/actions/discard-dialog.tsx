import { countOf } from "../../../../../src/surfaces/cli/amounts.ts";
import { Confirm } from "../../../components/confirm.tsx";
import { Text } from "../../../components/text.tsx";
import { showToast } from "../../../components/toast.tsx";
import { client } from "../../../data/client.ts";
import { useAction } from "../../../data/use-action.ts";
import { type DelegationDiff, reloadDelegation } from "../delegation-detail.ts";

interface DiscardDialogProps {
  readonly delegationId: string;
  readonly diff: DelegationDiff;
  readonly onClose: () => void;
}

const mostNamed = 8;

/** Says what is lost, by name. */
export function DiscardDialog({ delegationId, diff, onClose }: DiscardDialogProps) {
  const discard = useAction(async () => {
    const { sentence, status } = await client.discardDelegation({
      delegationId,
      deleteChanges: true,
    });
    onClose();
    showToast(
      status === "discarded"
        ? `Discarded the changes of ${delegationId}.`
        : (sentence ?? "The changes were kept."),
    );
    await reloadDelegation(delegationId);
  });
  const { added, files, removed } = diff;
  return (
    <Confirm
      title={`Discard the changes of ${delegationId}?`}
      action="Delete the changes"
      isDangerous
      isBusy={discard.isBusy}
      onConfirm={() => void discard.run()}
      onClose={onClose}
    >
      <p>
        Deletes its working copy with the changes of {countOf(files.length, "file")} (+{added} −
        {removed}). This cannot be undone. The log, the result and the evidence stay.
      </p>
      <ul className="mt-2 max-h-40 overflow-y-auto">
        {files.slice(0, mostNamed).map(({ path }) => (
          <li key={path} className="truncate text-ink">
            <Text className="font-mono text-xs">{path}</Text>
          </li>
        ))}
        {files.length > mostNamed && <li>and {files.length - mostNamed} more</li>}
      </ul>
    </Confirm>
  );
}
