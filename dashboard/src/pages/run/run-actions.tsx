import { useState } from "react";
import { describeResumed } from "../../../../src/application/commands/describe-run.ts";
import { Button } from "../../components/button.tsx";
import { Confirm } from "../../components/confirm.tsx";
import { showToast } from "../../components/toast.tsx";
import { client } from "../../data/client.ts";
import { useAction } from "../../data/use-action.ts";
import { useMe } from "../../data/use-me.ts";
import { navigate } from "../../router/router.ts";
import { useKeys } from "../../shell/keys.ts";
import type { RunPageState } from "./run-state-of.ts";

interface RunActionsProps {
  readonly runId: string;
  readonly state: RunPageState;
  readonly onDone: () => void;
}

export function RunActions({ runId, state, onDone }: RunActionsProps) {
  const [isAsking, setAsking] = useState(false);
  const isViewer = useMe()?.role === "viewer";
  const isOpen = !isViewer && (state === "running" || state === "interrupted");
  const isResumable = !isViewer && ["interrupted", "failed", "cancelled"].includes(state);
  const cancel = useAction(async () => {
    const { outcome } = await client.cancelRun({ runId });
    setAsking(false);
    showToast(outcome === "cancelled" ? `${runId} is cancelled.` : `${runId} had ended already.`);
    onDone();
  });
  const resume = useAction(async () => {
    const resumed = await client.resumeRun({ runId });
    showToast(describeResumed(resumed, runId));
    onDone();
    const [next, ...others] = resumed.runs;
    if (next?.as === "new" && others.length === 0) navigate(`/runs/${next.runId}`);
  });
  useKeys([
    ...(isOpen ? [{ keys: "x", label: "Cancel the run", run: () => setAsking(true) }] : []),
    ...(isResumable ? [{ keys: "e", label: "Resume the run", run: () => void resume.run() }] : []),
  ]);
  return (
    <div className="flex gap-2">
      {isResumable && (
        <Button disabled={resume.isBusy} onClick={() => void resume.run()}>
          Resume
        </Button>
      )}
      {isOpen && (
        <Button tone="danger" onClick={() => setAsking(true)}>
          Cancel
        </Button>
      )}
      {isAsking && (
        <Confirm
          title={`Cancel ${runId}?`}
          action="Cancel the run"
          isDangerous
          isBusy={cancel.isBusy}
          onConfirm={() => void cancel.run()}
          onClose={() => setAsking(false)}
        >
          Every agent in it stops. What they did is kept, and the run can be resumed.
        </Confirm>
      )}
    </div>
  );
}
