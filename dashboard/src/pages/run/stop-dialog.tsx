import { useState } from "react";
import { Confirm } from "../../components/confirm.tsx";
import { showToast } from "../../components/toast.tsx";
import { client } from "../../data/client.ts";
import { useAction } from "../../data/use-action.ts";

interface StopDialogProps {
  readonly runId: string;
  /** No process works on it: all that can be done is to cancel it. */
  readonly isInterrupted: boolean;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

const choices = [
  {
    how: "cancel",
    label: "Cancel all",
    detail: "Every agent stops. Their work is kept, and the run can be resumed.",
  },
  {
    how: "by-contract",
    label: "Stop the main agent",
    detail: "Its sub-agents stop, pause or continue, as their contracts say.",
  },
  {
    how: "after-children",
    label: "Let sub-agents finish",
    detail: "The run is cancelled when no sub-agent runs any more.",
  },
] as const;

type How = (typeof choices)[number]["how"];

const said = {
  cancelled: "is cancelled",
  continuing: "stops; some of its sub-agents continue",
  paused: "is paused; resume continues it",
  waiting: "ends after its sub-agents",
  already_terminal: "had finished already",
} as const;

/** What should happen to the sub-agents? The same choices as in the terminal. */
export function StopDialog({ runId, isInterrupted, onDone, onClose }: StopDialogProps) {
  const [how, setHow] = useState<How>("cancel");
  const stop = useAction(async () => {
    const { outcome } =
      how === "cancel"
        ? await client.cancelRun({ runId })
        : await client.interruptRun({ runId, how });
    onClose();
    showToast(`${runId} ${said[outcome]}.`);
    onDone();
  });
  return (
    <Confirm
      title={`Stop ${runId}?`}
      action="Stop the run"
      isDangerous
      isBusy={stop.isBusy}
      onConfirm={() => void stop.run()}
      onClose={onClose}
    >
      {isInterrupted ? (
        <p>The run is cancelled. Its work is kept, and it can be resumed.</p>
      ) : (
        <fieldset className="flex flex-col gap-2">
          <legend className="mb-1">What should happen to its sub-agents?</legend>
          {choices.map(({ detail, how: each, label }) => (
            <label key={each} className="flex items-start gap-2">
              <input
                type="radio"
                name="how"
                className="mt-1"
                checked={how === each}
                onChange={() => setHow(each)}
              />
              <span>
                <span className="font-medium text-ink">{label}</span>
                <br />
                {detail}
              </span>
            </label>
          ))}
        </fieldset>
      )}
    </Confirm>
  );
}
