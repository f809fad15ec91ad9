import { useState } from "react";
import { harmlessText } from "../../../../../src/sessions/harmless-text.ts";
import { Text } from "../../../components/text.tsx";
import type { ChangedFile } from "./match-sections.ts";
import type { DiffLine, DiffLineKind } from "./parse-diff.ts";

interface FileDiffProps {
  readonly id: string;
  readonly file: ChangedFile;
  /** The diff of all files together was cut. */
  readonly isCut: boolean;
  readonly isOpen: boolean;
  readonly onToggle: () => void;
}

const words = { added: "New", removed: "Removed", changed: "Changed" };
const linesAtOnce = 1000;
const longestLine = 2000;

export function FileDiff({ id, file, isCut, isOpen, onToggle }: FileDiffProps) {
  const [most, setMost] = useState(linesAtOnce);
  const { change, counts, lines, path } = file;
  return (
    <div id={id} className="border-b border-line">
      <h3 className="sticky top-0 z-10 bg-panel">
        <button
          type="button"
          aria-expanded={isOpen}
          className="row flex w-full items-center gap-2 px-4 py-1.5 text-left hover:bg-hover"
          onClick={onToggle}
        >
          <svg
            viewBox="0 0 16 16"
            className={`size-3.5 shrink-0 text-soft ${isOpen ? "rotate-90" : ""}`}
            aria-hidden="true"
          >
            <path d="m6 4 4 4-4 4" fill="none" stroke="currentColor" strokeWidth="1.75" />
          </svg>
          <Text className="min-w-0 flex-1 truncate font-mono text-xs font-medium">{path}</Text>
          <span className="shrink-0 text-xs text-soft">{words[change]}</span>
          {counts && (
            <span className="shrink-0 text-xs">
              <span className="text-good">+{counts.added}</span>{" "}
              <span className="text-bad">−{counts.removed}</span>
            </span>
          )}
        </button>
      </h3>
      {isOpen &&
        (lines.length === 0 ? (
          <p className="px-10 pb-2 text-soft">
            {isCut ? "Its lines are beyond what is shown." : "It is no text, or empty."}
          </p>
        ) : (
          <>
            <div
              role="group"
              aria-label="Lines"
              // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users scroll it with keys.
              tabIndex={0}
              className="row overflow-x-auto border-t border-line font-mono text-xs leading-[18px]"
            >
              <div className="w-max min-w-full">
                {lines.slice(0, most).map((line, index) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: lines of one diff never move.
                  <Line key={index} line={line} />
                ))}
              </div>
            </div>
            {lines.length > most && (
              <button
                type="button"
                className="px-10 py-1 text-accent hover:underline"
                onClick={() => setMost(most + linesAtOnce)}
              >
                Show more ({(lines.length - most).toLocaleString("en")} lines left)
              </button>
            )}
          </>
        ))}
    </div>
  );
}

const looks: Readonly<
  Record<DiffLineKind, { readonly row: string; readonly sign: string; readonly tone: string }>
> = {
  added: { row: "", sign: "+", tone: "text-good" },
  removed: { row: "", sign: "−", tone: "text-bad" },
  same: { row: "", sign: " ", tone: "text-soft" },
  hunk: { row: "bg-hover text-soft", sign: " ", tone: "text-soft" },
  note: { row: "text-soft", sign: " ", tone: "text-soft" },
};

const grounds: Partial<Record<DiffLineKind, string>> = {
  added: "light-dark(#eaf6ee, #10251a)",
  removed: "light-dark(#fdeeed, #2b1716)",
};

function Line({ line: { after, before, kind, text } }: { readonly line: DiffLine }) {
  const { row, sign, tone } = looks[kind];
  const shown = text.length > longestLine ? `${text.slice(0, longestLine).toWellFormed()}…` : text;
  const ground = grounds[kind];
  return (
    <div
      className={`flex whitespace-pre ${row}`}
      style={ground === undefined ? undefined : { background: ground }}
    >
      <span className="w-11 shrink-0 pr-2 text-right text-soft select-none">{before ?? ""}</span>
      <span className="w-11 shrink-0 pr-2 text-right text-soft select-none">{after ?? ""}</span>
      <span className={`w-4 shrink-0 ${tone}`}>{sign}</span>
      <bdi className="pr-4" dir="ltr">
        {harmlessText(shown)}
      </bdi>
    </div>
  );
}
