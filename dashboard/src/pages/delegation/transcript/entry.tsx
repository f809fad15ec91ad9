import type { ReactNode } from "react";
import type { SessionEntry } from "../../../../../src/sessions/session-entry.ts";
import { Clock } from "../../../components/amounts.tsx";
import { Markdown } from "../../../components/markdown/markdown.tsx";
import { Text } from "../../../components/text.tsx";
import { Link } from "../../../router/link.tsx";
import { CallLine } from "./call-line.tsx";

interface EntryProps {
  readonly entry: SessionEntry;
  /** The entry is a question that still waits. */
  readonly isWaiting: boolean;
  readonly onArtifact: (hash: string) => void;
  /** Absent: there is nothing to fork from here. */
  readonly onFork?: (() => void) | undefined;
}

/** One thing that was said or done. */
export function Entry({ entry, isWaiting, onArtifact, onFork }: EntryProps) {
  switch (entry.kind) {
    case "person":
      return (
        <Spoken who="Caller" at={entry.at} tone="border-l-accent">
          <Markdown>{entry.text}</Markdown>
        </Spoken>
      );
    case "agent":
      return (
        <Spoken
          who="Agent"
          aside={entry.model}
          at={entry.at}
          tone="border-l-edge"
          action={onFork && <ForkButton onFork={onFork} />}
        >
          <Markdown>{entry.text}</Markdown>
        </Spoken>
      );
    case "remark":
      return (
        <Spoken
          who={`Remark of ${entry.from}`}
          aside={entry.severity}
          at={entry.at}
          tone="border-l-warn"
        >
          <Markdown>{entry.text}</Markdown>
        </Spoken>
      );
    case "question":
      return (
        <Spoken who="Asks" at={entry.at} tone="border-l-warn">
          <Markdown>{entry.text}</Markdown>
          <p className={`mt-1 ${isWaiting ? "text-warn" : "text-soft"}`}>
            {isWaiting ? (
              "Waits for your answer."
            ) : entry.answer === null ? (
              "No answer."
            ) : (
              <Text most={2000}>{`Answer: ${entry.answer}`}</Text>
            )}
          </p>
        </Spoken>
      );
    case "child":
      return (
        <Line at={entry.at}>
          <Link
            to={`/delegations/${encodeURIComponent(entry.breadcrumb.delegationId)}`}
            className="shrink-0 font-medium text-accent hover:underline"
          >
            <Text most={60}>{entry.breadcrumb.profile}</Text>
          </Link>
          <Text className="min-w-0 flex-1 text-soft wrap-anywhere">
            {`${entry.breadcrumb.status}: ${entry.breadcrumb.summary}`}
          </Text>
        </Line>
      );
    case "note":
      return (
        <Line at={entry.at}>
          <Text className="min-w-0 flex-1 text-soft wrap-anywhere">{entry.text}</Text>
        </Line>
      );
    case "lost":
      return (
        <Line>
          <Text className="text-bad">{entry.text}</Text>
        </Line>
      );
    case "call":
      return <CallLine entry={entry} onArtifact={onArtifact} />;
    default:
      return entry satisfies never;
  }
}

interface SpokenProps {
  readonly who: string;
  readonly aside?: string;
  readonly at: number;
  readonly tone: string;
  readonly action?: ReactNode;
  readonly children: ReactNode;
}

function ForkButton({ onFork }: { readonly onFork: () => void }) {
  return (
    <button
      type="button"
      className="shrink-0 text-accent hover:underline"
      title="A new run that shares the history up to here"
      onClick={onFork}
    >
      Fork from here
    </button>
  );
}

function Spoken({ who, aside, at, tone, action, children }: SpokenProps) {
  return (
    <div className={`border-l-[3px] px-4 py-2 ${tone}`}>
      <p className="mb-0.5 flex items-baseline gap-2 text-xs">
        <Text className="font-semibold" most={60}>
          {who}
        </Text>
        {aside !== undefined && (
          <Text className="truncate text-soft" most={80}>
            {aside}
          </Text>
        )}
        <span className="ml-auto flex gap-3 text-soft">
          {action}
          <Clock at={at} />
        </span>
      </p>
      {children}
    </div>
  );
}

function Line({ at, children }: { readonly at?: number; readonly children: ReactNode }) {
  return (
    <p className="flex items-baseline gap-2 px-4 py-1.5 pl-[19px]">
      {children}
      {at !== undefined && (
        <span className="ml-auto shrink-0 text-xs text-soft">
          <Clock at={at} />
        </span>
      )}
    </p>
  );
}
