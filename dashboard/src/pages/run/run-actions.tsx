import { useState } from "react";
import { describeResumed } from "../../../../src/application/commands/describe-run.ts";
import { Button } from "../../components/button.tsx";
import { ResumeDialog, type ResumeLimits } from "../../components/resume-dialog.tsx";
import { showToast } from "../../components/toast.tsx";
import { client } from "../../data/client.ts";
import type { RunFeed } from "../../data/run-feed.ts";
import { useAction } from "../../data/use-action.ts";
import { isOperator, useMe } from "../../data/use-me.ts";
import { navigate } from "../../router/router.ts";
import { useKeys } from "../../shell/keys.ts";
import type { RunPageState } from "./run-state-of.ts";
import { StopDialog } from "./stop-dialog.tsx";

interface RunActionsProps {
  readonly feed: RunFeed;
  readonly state: RunPageState;
  /** The run carries out a script, and some of its calls failed or were skipped: they can run again. */
  readonly hasFailedCalls: boolean;
  readonly onDone: () => void;
}

export function RunActions({ feed, state, hasFailedCalls, onDone }: RunActionsProps) {
  const [asked, setAsked] = useState<"stop" | "resume" | null>(null);
  const mayAct = isOperator(useMe());
  const { runId } = feed;
  const root = feed.detail?.tree.find(({ delegationId }) => delegationId === feed.detail?.rootId);
  const isOpen = mayAct && (state === "running" || state === "interrupted");
  const isResumable =
    mayAct &&
    (["interrupted", "failed", "cancelled"].includes(state) ||
      (state === "succeeded" && hasFailedCalls));
  // What another program runs cannot be started from here.
  const isRepeatable = mayAct && !isOpen && root !== undefined && root.client === undefined;
  const close = (): void => setAsked(null);
  const resume = useAction(async (limits: ResumeLimits) => {
    const resumed = await client.resumeRun({ runId, ...limits });
    close();
    showToast(describeResumed(resumed, runId));
    onDone();
    const [next, ...others] = resumed.runs;
    if (next?.as === "new" && others.length === 0) navigate(`/runs/${next.runId}`);
  });
  const repeat = useAction(async () => {
    if (root === undefined) return;
    const { cap, context, task } = await client.getDelegation({ delegationId: root.delegationId });
    const started = await client.startRun({
      task: task ?? feed.state.task,
      profile: root.profile,
      workspace: feed.state.workspace,
      ...(context !== null && { context }),
      ...(cap !== null && { maxTokens: cap.tokens, ...(cap.cost && { maxCost: cap.cost }) }),
    });
    navigate(`/runs/${started.runId}`);
  });
  useKeys([
    ...(isOpen ? [{ keys: "x", label: "Stop the run", run: () => setAsked("stop") }] : []),
    ...(isResumable ? [{ keys: "e", label: "Resume the run", run: () => setAsked("resume") }] : []),
    ...(isRepeatable ? [{ keys: "a", label: "Run again", run: () => void repeat.run() }] : []),
  ]);
  return (
    <div className="flex flex-wrap justify-end gap-2">
      {isRepeatable && (
        <Button disabled={repeat.isBusy} onClick={() => void repeat.run()}>
          Run again
        </Button>
      )}
      {isResumable && <Button onClick={() => setAsked("resume")}>Resume</Button>}
      {isOpen && (
        <Button tone="danger" onClick={() => setAsked("stop")}>
          Stop…
        </Button>
      )}
      {asked === "stop" && (
        <StopDialog
          runId={runId}
          isInterrupted={state === "interrupted"}
          onDone={onDone}
          onClose={close}
        />
      )}
      {asked === "resume" && (
        <ResumeDialog
          id={runId}
          isBusy={resume.isBusy}
          onResume={(limits) => void resume.run(limits)}
          onClose={close}
        />
      )}
    </div>
  );
}
