import type { ReactNode } from "react";
import type { SessionEntry } from "../../../../src/sessions/session-entry.ts";
import { Time } from "../../components/amounts.tsx";
import { Markdown } from "../../components/markdown/markdown.tsx";
import { StateBadge } from "../../components/state-badge.tsx";
import { LongText, Text } from "../../components/text.tsx";
import { Link } from "../../router/link.tsx";
import { shownSession } from "./session-status.ts";

interface EntryViewProps {
  readonly entry: SessionEntry;
  /** The entry is a question that still waits. */
  readonly isWaiting: boolean;
}

/** One line of a conversation. */
export function EntryView({ entry, isWaiting }: EntryViewProps) {
  switch (entry.kind) {
    case "person":
      return (
        <Said who="You" at={entry.at} look="border-l-accent bg-hover">
          <Markdown>{entry.text}</Markdown>
        </Said>
      );
    case "agent":
      return (
        <Said who="Agent" at={entry.at} aside={entry.model} look="border-l-line">
          <Markdown>{entry.text}</Markdown>
        </Said>
      );
    case "call":
      return <Call entry={entry} />;
    case "question":
      return (
        <Said who={isWaiting ? "Asks" : "Asked"} at={entry.at} look="border-l-warn">
          <Markdown>{entry.text}</Markdown>
          <p className={`mt-1 wrap-anywhere ${isWaiting ? "text-warn" : "text-soft"}`}>
            {isWaiting ? (
              "Waits for your answer."
            ) : entry.answer === null ? (
              "No answer."
            ) : (
              <>
                Answer: <Text most={2000}>{entry.answer}</Text>
              </>
            )}
          </p>
        </Said>
      );
    case "remark":
      return (
        <Said who="Remark" at={entry.at} aside={entry.from} look="border-l-busy">
          <Markdown>{entry.text}</Markdown>
        </Said>
      );
    case "child": {
      const { delegationId, profile, status, summary } = entry.breadcrumb;
      return (
        <p className="flex min-w-0 items-center gap-2 px-4 py-1">
          <span className="flex shrink-0">
            <StateBadge state={shownSession(status)} isShort />
          </span>
          <Link
            className="shrink-0 text-accent hover:underline"
            to={`/delegations/${delegationId}`}
          >
            <Text most={64}>{profile}</Text>
          </Link>
          <span className="truncate text-soft">
            <Text isMarkdown>{summary}</Text>
          </span>
        </p>
      );
    }
    case "note":
      return (
        <p className="px-4 py-1 text-xs text-soft wrap-anywhere">
          <Text>{entry.text}</Text>
        </p>
      );
    case "lost":
      return (
        <p className="px-4 py-1 text-xs text-bad wrap-anywhere">
          <Text>{entry.text}</Text>
        </p>
      );
    default:
      return entry satisfies never;
  }
}

interface SaidProps {
  readonly who: string;
  readonly at: number;
  readonly aside?: string;
  readonly look: string;
  readonly children: ReactNode;
}

function Said({ who, at, aside, look, children }: SaidProps) {
  return (
    <article className={`border-l-[3px] px-4 py-2 ${look}`}>
      <h3 className="mb-1 flex gap-2 text-xs text-soft">
        <span className="font-semibold text-ink">{who}</span>
        {aside !== undefined && aside !== "" && <Text className="truncate">{aside}</Text>}
        <span className="ml-auto shrink-0">
          <Time at={at} />
        </span>
      </h3>
      {children}
    </article>
  );
}

const outcomes = {
  open: "under way",
  done: "done",
  failed: "failed",
  refused: "refused",
  unknown: "outcome unknown",
};

function Call({ entry }: { readonly entry: Extract<SessionEntry, { readonly kind: "call" }> }) {
  const isWrong = entry.outcome === "failed" || entry.outcome === "refused";
  return (
    <details className="group px-4 py-1">
      <summary className="flex cursor-pointer items-center gap-2 rounded-sm text-xs text-soft hover:text-ink">
        <span aria-hidden="true" className="group-open:rotate-90">
          ›
        </span>
        <Text most={100} className="font-mono">
          {entry.tool}
        </Text>
        <span className={isWrong ? "text-bad" : ""}>{outcomes[entry.outcome]}</span>
      </summary>
      <div className="mt-1 flex flex-col gap-2 border-l border-line pl-3">
        <LongText>{JSON.stringify(entry.input, null, 2) ?? ""}</LongText>
        {entry.output !== "" && <LongText>{entry.output}</LongText>}
      </div>
    </details>
  );
}
