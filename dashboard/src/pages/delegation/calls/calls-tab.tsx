import { useMemo, useState } from "react";
import { formatSpan } from "../../../../../src/surfaces/cli/amounts.ts";
import { Clock } from "../../../components/amounts.tsx";
import { Empty } from "../../../components/empty.tsx";
import { Text } from "../../../components/text.tsx";
import { VirtualList } from "../../../components/virtual-list.tsx";
import type { DelegationFeed } from "../delegation-feed.ts";
import { CallDetails } from "./call-details.tsx";
import { CallOutcome } from "./call-outcome.tsx";
import { type ToolCall, toolCallsOf } from "./tool-calls-of.ts";

interface CallsTabProps {
  readonly feed: DelegationFeed;
  readonly onArtifact: (hash: string) => void;
}

/** What it called, with which arguments, and what came of it. */
export function CallsTab({ feed, onArtifact }: CallsTabProps) {
  const { version } = feed;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the version is what changes.
  const calls = useMemo(() => toolCallsOf(feed.events), [feed, version]);
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  if (feed.isComplete && calls.length === 0) {
    return (
      <Empty title="It called no tools">
        Calls appear here as they are made, with arguments and outputs.
      </Empty>
    );
  }
  const toggle = (index: number): void => {
    const key = calls[index]?.key;
    if (key === undefined) return;
    const next = new Set(open);
    if (!next.delete(key)) next.add(key);
    setOpen(next);
  };
  return (
    <VirtualList
      label="Tool calls"
      kind="treegrid"
      isMain
      count={calls.length}
      rowHeight={32}
      keyOf={(index) => calls[index]?.key ?? ""}
      expanded={calls.flatMap(({ key }, index) => (open.has(key) ? [index] : []))}
      onOpen={toggle}
      rowProps={(index) => ({
        className: "cursor-pointer",
        "aria-expanded": open.has(calls[index]?.key ?? ""),
      })}
      renderRow={(index) => {
        const call = calls[index];
        return call && <CallRow call={call} />;
      }}
      renderDetails={(index) => {
        const call = calls[index];
        return call && <CallDetails call={call} onArtifact={onArtifact} />;
      }}
    />
  );
}

function CallRow({ call }: { readonly call: ToolCall }) {
  const { at, endedAt, input, outcome, rule, startedAt, title, tool } = call;
  const about = title ?? (input === undefined ? "" : JSON.stringify(input));
  return (
    <div
      role="gridcell"
      className="grid h-full grid-cols-[6.5rem_minmax(0,9rem)_minmax(0,1fr)_4rem_3.75rem] items-center gap-x-3 px-4 max-sm:grid-cols-[1.25rem_minmax(0,1fr)_minmax(0,1fr)_3.5rem]"
    >
      <CallOutcome outcome={outcome} />
      <Text className="truncate font-mono text-xs font-medium">{tool}</Text>
      {rule === undefined ? (
        <Text className="truncate font-mono text-xs text-soft" most={200}>
          {about}
        </Text>
      ) : (
        <Text className="truncate text-warn">{`Rule ${rule}`}</Text>
      )}
      <span className="text-right text-xs text-soft">
        {startedAt !== null && endedAt !== null ? formatSpan(endedAt - startedAt) : ""}
      </span>
      <span className="text-right text-xs text-soft max-sm:hidden">
        <Clock at={at} />
      </span>
    </div>
  );
}
