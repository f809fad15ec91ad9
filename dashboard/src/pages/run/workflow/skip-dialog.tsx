import { harmlessLine } from "../../../../../src/sessions/harmless-text.ts";
import { Confirm } from "../../../components/confirm.tsx";
import { showToast } from "../../../components/toast.tsx";
import { client } from "../../../data/client.ts";
import { useAction } from "../../../data/use-action.ts";

interface SkipDialogProps {
  readonly delegationId: string;
  readonly label: string;
  readonly onClose: () => void;
}

/** One agent of a workflow ends; the script continues without its result. */
export function SkipDialog({ delegationId, label, onClose }: SkipDialogProps) {
  const name = harmlessLine(label, 60);
  const skip = useAction(async () => {
    const { outcome } = await client.cancelDelegation({ delegationId });
    onClose();
    showToast(outcome === "cancelled" ? `Skipped ${name}.` : `${name} had finished already.`);
  });
  return (
    <Confirm
      title={`Skip ${name}?`}
      action="Skip this agent"
      isDangerous
      isBusy={skip.isBusy}
      onConfirm={() => void skip.run()}
      onClose={onClose}
    >
      The agent stops, and the script gets null in place of its result. Everything else continues.
      When the workflow is resumed, this agent runs again.
    </Confirm>
  );
}
