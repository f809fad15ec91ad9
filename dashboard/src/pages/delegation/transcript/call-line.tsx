import { useState } from "react";
import type { CallEntry } from "../../../../../src/sessions/session-entry.ts";
import { Clock } from "../../../components/amounts.tsx";
import { formatBytes } from "../../../components/format-bytes.ts";
import { LongText, Text } from "../../../components/text.tsx";
import { CallOutcome } from "../calls/call-outcome.tsx";
import type { ToolCall } from "../calls/tool-calls-of.ts";

const outcomes: Readonly<Record<CallEntry["outcome"], ToolCall["outcome"]>> = {
  open: "running",
  done: "done",
  failed: "failed",
  refused: "refused",
  unknown: "unknown",
};

interface CallLineProps {
  readonly entry: CallEntry;
  readonly onArtifact: (hash: string) => void;
}

/** A call in a line, which opens to its arguments and its output. */
export function CallLine({ entry, onArtifact }: CallLineProps) {
  const [isOpen, setOpen] = useState(false);
  const { artifact, at, input, outcome, output, title, tool } = entry;
  const given = title ?? argumentsOf(input);
  return (
    <div className="px-4 pl-[19px]">
      <button
        type="button"
        aria-expanded={isOpen}
        className="flex w-full min-w-0 items-center gap-2 py-1.5 text-left"
        onClick={() => setOpen(!isOpen)}
      >
        <CallOutcome outcome={outcomes[outcome]} />
        <Text className="shrink-0 font-mono text-xs font-medium" most={60}>
          {tool}
        </Text>
        <Text className="min-w-0 flex-1 truncate font-mono text-xs text-soft" most={200}>
          {given}
        </Text>
        <span className="text-xs text-soft">
          <Clock at={at} />
        </span>
      </button>
      {isOpen && (
        <div className="grid gap-1 pb-2">
          <LongText className="rounded-md bg-page px-3 py-1.5">{argumentsOf(input, 2)}</LongText>
          {outcome !== "open" && (
            <LongText className="rounded-md bg-page px-3 py-1.5">
              {output === "" ? "(nothing)" : output}
            </LongText>
          )}
          {artifact && (
            <button
              type="button"
              className="justify-self-start text-accent hover:underline"
              onClick={() => onArtifact(artifact.hash)}
            >
              The whole output ({formatBytes(artifact.bytes)})
            </button>
          )}
        </div>
      )}
    </div>
  );
}

function argumentsOf(input: unknown, indent?: number): string {
  return typeof input === "string" ? input : (JSON.stringify(input, null, indent) ?? "");
}
