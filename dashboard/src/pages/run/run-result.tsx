import { useState } from "react";
import { LongText, Text } from "../../components/text.tsx";
import type { RunView } from "./replay/use-replay.ts";

const teaserLength = 240;

/** What came of it, in the words of the agent at the top, or why nothing did. */
export function RunResult({ feed }: { readonly feed: RunView }) {
  const [isWhole, setWhole] = useState(false);
  const root = [...feed.state.delegations.values()].find(({ parentId }) => parentId === null);
  if (root?.status !== "closed") return null;
  const isDone = root.finalStatus === "completed";
  const text = (isDone ? root.output?.text : root.failure?.error) ?? "";
  if (text === "") return null;
  const isLong = text.length > teaserLength || text.includes("\n");
  return (
    <section
      aria-label="Result"
      className={`mt-2 rounded-r-md border-l-[3px] bg-page px-3 py-1.5 ${isDone ? "border-l-good" : "border-l-bad"}`}
    >
      {isWhole ? (
        <LongText>{text}</LongText>
      ) : (
        <p className="line-clamp-2 wrap-anywhere sm:line-clamp-3">
          <Text most={teaserLength}>{text}</Text>
        </p>
      )}
      {isLong && (
        <button
          type="button"
          className="text-xs text-accent hover:underline"
          aria-expanded={isWhole}
          onClick={() => setWhole(!isWhole)}
        >
          {isWhole ? "Less" : "Whole result"}
        </button>
      )}
    </section>
  );
}
