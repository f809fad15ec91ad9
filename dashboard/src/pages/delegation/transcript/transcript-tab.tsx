import { useEffect, useMemo, useRef, useState } from "react";
import type { SessionEntry } from "../../../../../src/sessions/session-entry.ts";
import { Empty } from "../../../components/empty.tsx";
import { Problem } from "../../../components/problem.tsx";
import { waitingQuestion } from "../../../data/waiting-question.ts";
import type { DelegationFeed } from "../delegation-feed.ts";
import { Pane } from "../pane.tsx";
import { Entry } from "./entry.tsx";
import { ForkDialog } from "./fork-dialog.tsx";
import { forkPlaces } from "./fork-places.ts";
import { useTranscript } from "./use-transcript.ts";

interface TranscriptTabProps {
  readonly delegationId: string;
  readonly runId: string;
  readonly feed: DelegationFeed;
  readonly mayFork: boolean;
  /** The agent waits for an answer, which is given above. */
  readonly isAsking: boolean;
  readonly onArtifact: (hash: string) => void;
}

/** So far before the end the next page is read. */
const aheadPixels = 800;

/** What was said, the oldest first. What is out of sight is neither laid out nor painted. */
export function TranscriptTab(props: TranscriptTabProps) {
  const { delegationId, feed, isAsking, mayFork, onArtifact, runId } = props;
  const { error, hasMore, isLoaded, loadMore, pages } = useTranscript(delegationId);
  const entries = pages.flatMap(({ items }) => items);
  const waiting = waitingQuestion(entries, isAsking);
  const [forkAt, setForkAt] = useState<number | null>(null);
  const { events, version } = feed;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the version is what changes.
  const places = useMemo(() => forkPlaces(events), [events, version]);
  /** Only from what was said in this run, and once it is known where that is. */
  const forking = (entry: SessionEntry): (() => void) | undefined => {
    const place = mayFork && entry.kind === "agent" ? places.get(entry.at) : undefined;
    return place === undefined ? undefined : () => setForkAt(place);
  };
  const end = useRef<HTMLParagraphElement>(null);
  useEffect(() => {
    const element = end.current;
    if (element === null || !hasMore) return;
    const observer = new IntersectionObserver(
      (seen) => {
        if (seen.some(({ isIntersecting }) => isIntersecting)) loadMore();
      },
      { rootMargin: `${aheadPixels}px` },
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, [hasMore, loadMore]);
  if (error !== null && !isLoaded) return <Problem error={error} />;
  if (isLoaded && entries.length === 0) {
    return <Empty title="Nothing was said yet">The conversation appears here while it runs.</Empty>;
  }
  return (
    <Pane label="Transcript">
      <ol>
        {entries.map((entry, index) => (
          <li
            // biome-ignore lint/suspicious/noArrayIndexKey: entries are only added at the end.
            key={index}
            className="border-b border-line"
            style={{ contentVisibility: "auto", containIntrinsicSize: "auto 72px" }}
          >
            <Entry
              entry={entry}
              isWaiting={entry === waiting}
              onArtifact={onArtifact}
              onFork={forking(entry)}
            />
          </li>
        ))}
      </ol>
      <p ref={end} className="px-4 py-3 text-xs text-soft">
        {hasMore || !isLoaded ? "Reading…" : `${entries.length} entries`}
      </p>
      {forkAt !== null && <ForkDialog runId={runId} at={forkAt} onClose={() => setForkAt(null)} />}
    </Pane>
  );
}
