import { countOf } from "../../../../../src/surfaces/cli/amounts.ts";
import { Confirm } from "../../../components/confirm.tsx";
import { Text } from "../../../components/text.tsx";
import { showToast } from "../../../components/toast.tsx";
import { client } from "../../../data/client.ts";
import { useAction } from "../../../data/use-action.ts";
import type { DelegationDiff } from "../delegation-detail.ts";

interface DiscardDialogProps {
  readonly delegationId: string;
  readonly diff: DelegationDiff;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

const mostNamed = 8;

/** Says what is lost, by name. */
export function DiscardDialog({ delegationId, diff, onDone, onClose }: DiscardDialogProps) {
  const discard = useAction(async () => {
    const { sentence, status } = await client.discardDelegation({
      delegationId,
      deleteChanges: true,
    });
    onClose();
    showToast(
      status === "discarded"
        ? `The copy of ${delegationId} is gone.`
        : (sentence ?? "It was kept."),
    );
    onDone();
  });
  const { added, files, removed } = diff;
  return (
    <Confirm
      title={`Discard what ${delegationId} changed?`}
      action="Discard for good"
      isDangerous
      isBusy={discard.isBusy}
      onConfirm={() => void discard.run()}
      onClose={onClose}
    >
      <p>
        Its copy is removed. Changes to {countOf(files.length, "file")} are lost for good: {added}{" "}
        lines added, {removed} removed. Its log, result and evidence stay.
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
