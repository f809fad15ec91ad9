import { lazy, Suspense, useMemo, useState } from "react";
import { harmlessText } from "../../../../src/sessions/harmless-text.ts";
import { CopyButton } from "../copy-button.tsx";
import { formatBytes } from "../format-bytes.ts";
import { LongText } from "../text.tsx";

interface MarkdownProps {
  readonly children: string;
  readonly className?: string;
  /** Longer texts begin cut; `null`: the whole text from the start, for what a person decides about. */
  readonly most?: number | null;
}

const usualLength = 6000;
/** The parser stays linear, but so many elements would slow the page down: beyond, the text is shown as it is. */
const mostRendered = 120_000;

const MarkdownBlocks = lazy(async () => {
  const { MarkdownBlocks: blocks } = await import("./markdown-blocks.tsx");
  return { default: blocks };
});

/** An agent's text, rendered; as it is on request. */
export function Markdown({ children: text, className = "", most = usualLength }: MarkdownProps) {
  const [isRaw, setRaw] = useState(false);
  const [isWhole, setWhole] = useState(most === null);
  const limit = most ?? mostRendered;
  const isTooLong = text.length > mostRendered;
  const shown = useMemo(
    () => harmlessText(isWhole || text.length <= limit ? text : beginningOf(text, limit)),
    [isWhole, limit, text],
  );
  return (
    <div className={`min-w-0 ${className}`}>
      <div className="float-right ml-3 flex gap-2 text-soft">
        {!isTooLong && (
          <button
            type="button"
            className="text-xs hover:text-ink hover:underline aria-pressed:text-ink"
            aria-pressed={isRaw}
            onClick={() => setRaw(!isRaw)}
          >
            Raw
          </button>
        )}
        <CopyButton text={text} what="the text" className="hover:text-ink" />
      </div>
      {isRaw || isTooLong ? (
        <LongText isWhole={isWhole}>{text}</LongText>
      ) : (
        <>
          <div className="min-w-0 wrap-anywhere">
            <Suspense fallback={<p className="whitespace-pre-wrap">{shown}</p>}>
              <MarkdownBlocks text={shown} />
            </Suspense>
          </div>
          {most !== null && text.length > limit && (
            <button
              type="button"
              className="mt-1 text-xs text-accent hover:underline"
              onClick={() => setWhole(!isWhole)}
            >
              {isWhole ? "Show less" : `Show all (${formatBytes(text.length)})`}
            </button>
          )}
        </>
      )}
    </div>
  );
}

/** Up to the end of a line, where there is one. */
function beginningOf(text: string, most: number): string {
  const cut = text.slice(0, most).toWellFormed();
  const lineEnd = cut.lastIndexOf("\n");
  return `${lineEnd > most / 2 ? cut.slice(0, lineEnd) : cut}\n\n…`;
}
