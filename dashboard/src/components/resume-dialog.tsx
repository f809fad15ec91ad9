import { useState } from "react";
import { Confirm } from "./confirm.tsx";

export interface ResumeLimits {
  readonly maxTokens?: number;
  readonly maxCost?: number;
  /** Milliseconds. */
  readonly timeout?: number;
}

interface ResumeDialogProps {
  readonly id: string;
  readonly isBusy: boolean;
  readonly onResume: (limits: ResumeLimits) => void;
  readonly onClose: () => void;
}

/** Resumes under the contract that it had, or with a larger budget. */
export function ResumeDialog({ id, isBusy, onResume, onClose }: ResumeDialogProps) {
  const [tokens, setTokens] = useState("");
  const [dollars, setDollars] = useState("");
  const [minutes, setMinutes] = useState("");
  const confirm = (): void => {
    const [maxTokens, maxCost, timeout] = [
      Math.round(Number(tokens)),
      Number(dollars),
      Math.round(Number(minutes) * 60_000),
    ];
    onResume({
      ...(maxTokens > 0 && { maxTokens }),
      ...(maxCost > 0 && { maxCost }),
      ...(timeout > 0 && { timeout }),
    });
  };
  return (
    <Confirm
      title={`Resume ${id}?`}
      action="Resume"
      isBusy={isBusy}
      onConfirm={confirm}
      onClose={onClose}
    >
      <p>
        It continues with its conversation, under the contract that it had. Optional: new limits.
      </p>
      <div className="mt-2 grid grid-cols-3 gap-2 max-sm:grid-cols-1">
        <Field label="Tokens" value={tokens} step={1} onChange={setTokens} />
        <Field label="US dollars" value={dollars} step="any" onChange={setDollars} />
        <Field label="Minutes" value={minutes} step="any" onChange={setMinutes} />
      </div>
    </Confirm>
  );
}

interface FieldProps {
  readonly label: string;
  readonly value: string;
  readonly step: number | "any";
  readonly onChange: (value: string) => void;
}

function Field({ label, value, step, onChange }: FieldProps) {
  return (
    <label className="flex flex-col gap-0.5 text-xs">
      {label}
      <input
        type="number"
        min={0}
        step={step}
        placeholder="as before"
        className="h-8 min-w-0 rounded-md border border-edge bg-panel px-2 text-[13px] text-ink"
        value={value}
        onChange={({ target }) => onChange(target.value)}
      />
    </label>
  );
}
