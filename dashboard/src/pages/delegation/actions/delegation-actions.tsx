import { useState } from "react";
import { describeResumed } from "../../../../../src/application/commands/describe-run.ts";
import { Button } from "../../../components/button.tsx";
import { Confirm } from "../../../components/confirm.tsx";
import { ResumeDialog, type ResumeLimits } from "../../../components/resume-dialog.tsx";
import { showToast } from "../../../components/toast.tsx";
import { client } from "../../../data/client.ts";
import { useAction } from "../../../data/use-action.ts";
import { navigate } from "../../../router/router.ts";
import { useKeys } from "../../../shell/keys.ts";
import { type DelegationDiff, reloadDelegation } from "../delegation-detail.ts";
import { DiscardDialog } from "./discard-dialog.tsx";
import { MergeDialog } from "./merge-dialog.tsx";
import type { OfferedActions } from "./offered-actions.ts";

interface DelegationActionsProps {
  readonly delegationId: string;
  readonly offered: OfferedActions;
  readonly diff: DelegationDiff | null | undefined;
  /** The folder that a merge changes; null: not known. */
  readonly into: string | null;
}

type Asked = "cancel" | "merge" | "discard" | "resume" | null;

export function DelegationActions({ delegationId, offered, diff, into }: DelegationActionsProps) {
  const [asked, setAsked] = useState<Asked>(null);
  const { canCancel, canDecide, canResume } = offered;
  const close = (): void => setAsked(null);
  const cancel = useAction(async () => {
    const { outcome } = await client.cancelDelegation({ delegationId });
    close();
    showToast(
      outcome === "cancelled"
        ? `Cancelled ${delegationId}.`
        : `${delegationId} had finished already.`,
    );
    await reloadDelegation(delegationId);
  });
  const resume = useAction(async (limits: ResumeLimits) => {
    const resumed = await client.resumeDelegation({ delegationId, ...limits });
    close();
    await reloadDelegation(delegationId);
    showToast(describeResumed(resumed, delegationId));
    const [next, ...others] = resumed.runs;
    if (next?.as === "new" && others.length === 0) navigate(`/delegations/${next.delegationId}`);
  });
  useKeys([
    ...(canCancel
      ? [{ keys: "x", label: "Cancel the delegation", run: () => setAsked("cancel") }]
      : []),
    ...(canResume
      ? [{ keys: "e", label: "Resume the delegation", run: () => setAsked("resume") }]
      : []),
    ...(canDecide ? [{ keys: "m", label: "Merge its changes", run: () => setAsked("merge") }] : []),
  ]);
  if (!canCancel && !canDecide && !canResume) return null;
  return (
    <div className="flex shrink-0 flex-wrap justify-end gap-2">
      {canResume && <Button onClick={() => setAsked("resume")}>Resume</Button>}
      {canDecide && (
        <>
          <Button tone="main" onClick={() => setAsked("merge")}>
            Merge
          </Button>
          <Button tone="danger" onClick={() => setAsked("discard")}>
            Discard
          </Button>
        </>
      )}
      {canCancel && (
        <Button tone="danger" onClick={() => setAsked("cancel")}>
          Cancel
        </Button>
      )}
      {asked === "cancel" && (
        <Confirm
          title={`Cancel ${delegationId}?`}
          action="Cancel the delegation"
          isDangerous
          isBusy={cancel.isBusy}
          onConfirm={() => void cancel.run()}
          onClose={close}
        >
          It stops, with all its sub-agents. Its work so far is kept, and it can be resumed.
        </Confirm>
      )}
      {asked === "resume" && (
        <ResumeDialog
          id={delegationId}
          isBusy={resume.isBusy}
          onResume={(limits) => void resume.run(limits)}
          onClose={close}
        />
      )}
      {asked === "merge" && diff && (
        <MergeDialog delegationId={delegationId} diff={diff} into={into} onClose={close} />
      )}
      {asked === "discard" && diff && (
        <DiscardDialog delegationId={delegationId} diff={diff} onClose={close} />
      )}
    </div>
  );
}
