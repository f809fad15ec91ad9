import { harmlessLine } from "../../../../../src/sessions/harmless-text.ts";
import type { WorkflowCallView } from "../../../../../src/sessions/workflow-view.ts";
import { Confirm } from "../../../components/confirm.tsx";
import { showToast } from "../../../components/toast.tsx";
import { client } from "../../../data/client.ts";
import { useAction } from "../../../data/use-action.ts";

interface SkipDialogProps {
  readonly runId: string;
  /** The delegation that carries out the script. */
  readonly runner: string;
  readonly call: WorkflowCallView;
  readonly onClose: () => void;
}

/** One agent of a workflow ends; the script continues without its result. */
export function SkipDialog({ call, onClose, runId, runner }: SkipDialogProps) {
  const name = harmlessLine(call.label, 60);
  const skip = useAction(async () => {
    const { outcome } = await client.skipWorkflowAgent({
      ...{ runId, delegationId: runner, key: call.key },
    });
    onClose();
    showToast(outcome === "skipped" ? `Skipped ${name}.` : `${name} had finished already.`);
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
