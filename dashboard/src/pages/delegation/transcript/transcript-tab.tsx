import { useEffect, useRef } from "react";
import { Empty } from "../../../components/empty.tsx";
import { Problem } from "../../../components/problem.tsx";
import { Pane } from "../pane.tsx";
import { Entry } from "./entry.tsx";
import { useMessages } from "./use-messages.ts";

interface TranscriptTabProps {
  readonly delegationId: string;
  readonly onArtifact: (hash: string) => void;
}

/** So far before the end the next page is read. */
const aheadPixels = 800;

/** What was said, the oldest first. What is out of sight is neither laid out nor painted. */
export function TranscriptTab({ delegationId, onArtifact }: TranscriptTabProps) {
  const { entries, error, hasMore, isLoaded, loadMore } = useMessages(delegationId);
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
  if (error !== undefined && !isLoaded) return <Problem error={error} />;
  if (isLoaded && entries.length === 0) {
    return <Empty title="Nothing was said yet">The conversation appears here as it goes on.</Empty>;
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
            <Entry entry={entry} onArtifact={onArtifact} />
          </li>
        ))}
      </ol>
      <p ref={end} className="px-4 py-3 text-xs text-soft">
        {hasMore || !isLoaded ? "Reading…" : `${entries.length} entries`}
      </p>
    </Pane>
  );
}
