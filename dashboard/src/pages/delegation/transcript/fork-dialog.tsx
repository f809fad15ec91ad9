import { useId, useState } from "react";
import { harmlessLine } from "../../../../../src/sessions/harmless-text.ts";
import { Confirm } from "../../../components/confirm.tsx";
import { showToast } from "../../../components/toast.tsx";
import { client } from "../../../data/client.ts";
import { useAction } from "../../../data/use-action.ts";
import { useLiveQuery } from "../../../data/use-live-query.ts";
import { navigate } from "../../../router/router.ts";

interface ForkDialogProps {
  readonly runId: string;
  /** The last event to share, by its number in the run. */
  readonly at: number;
  readonly onClose: () => void;
}

const look = "w-full rounded-md border border-edge bg-panel px-2 text-ink";

/** A new run on the history so far: with another message or another agent. */
export function ForkDialog({ runId, at, onClose }: ForkDialogProps) {
  const [task, setTask] = useState("");
  const [profile, setProfile] = useState("");
  const base = useId();
  const profiles = useLiveQuery({
    key: ["profiles"],
    load: (signal) => client.listProfiles({}, { signal }),
  });
  const fork = useAction(async () => {
    const said = task.trim();
    const { runId: next, turns } = await client.forkRun({
      ...{ runId, at },
      ...(said !== "" && { task: said }),
      ...(profile !== "" && { profile }),
    });
    showToast(`${next} shares ${turns === 1 ? "1 turn" : `${turns} turns`} of ${runId}.`);
    onClose();
    navigate(`/runs/${next}`);
  });
  return (
    <Confirm
      title={`Fork ${runId} from here?`}
      action="Fork"
      isBusy={fork.isBusy}
      onConfirm={() => void fork.run()}
      onClose={onClose}
    >
      <p>
        Starts a new run with the conversation of {runId} up to this point. The old run is not
        changed.
      </p>
      <label className="mt-3 block text-xs" htmlFor={`${base}-task`}>
        Message
      </label>
      <textarea
        id={`${base}-task`}
        rows={3}
        maxLength={1_000_000}
        placeholder="Optional: new instruction"
        className={`${look} resize-y py-1`}
        value={task}
        onChange={({ target }) => setTask(target.value)}
      />
      <label className="mt-2 block text-xs" htmlFor={`${base}-profile`}>
        Agent
      </label>
      <select
        id={`${base}-profile`}
        className={`${look} h-7 max-sm:h-9`}
        value={profile}
        onChange={({ target }) => setProfile(target.value)}
      >
        <option value="">Same as before</option>
        {profiles.data?.items.map(({ name }) => (
          <option key={name} value={name}>
            {harmlessLine(name, 64)}
          </option>
        ))}
      </select>
    </Confirm>
  );
}
