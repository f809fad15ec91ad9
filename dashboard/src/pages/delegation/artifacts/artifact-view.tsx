import { type FormEvent, useState } from "react";
import { harmlessText } from "../../../../../src/sessions/harmless-text.ts";
import { Button } from "../../../components/button.tsx";
import { Problem } from "../../../components/problem.tsx";
import { client } from "../../../data/client.ts";
import { useLiveQuery } from "../../../data/use-live-query.ts";
import { Pane } from "../pane.tsx";

interface ArtifactViewProps {
  readonly delegationId: string;
  readonly hash: string;
}

type Wanted =
  | { readonly view: "peek" }
  | { readonly view: "slice"; readonly from: number }
  | { readonly view: "search"; readonly search: string };

const linesAtOnce = 200;

/** Both ends of it, some lines, or the lines that have a text in them. */
export function ArtifactView({ delegationId, hash }: ArtifactViewProps) {
  const [wanted, setWanted] = useState<Wanted>({ view: "peek" });
  const [line, setLine] = useState("1");
  const [text, setText] = useState("");
  const piece = useLiveQuery({
    key: ["artifact", delegationId, hash, JSON.stringify(wanted)],
    load: (signal) => {
      const { view: _view, ...asked } = wanted;
      const lines = wanted.view === "peek" ? undefined : linesAtOnce;
      return client.readArtifact({ delegationId, hash, lines, ...asked }, { signal });
    },
  });
  const { data: value } = piece;
  const goTo = (from: number): void => {
    setLine(String(from));
    setWanted({ view: "slice", from });
  };
  const find = (event: FormEvent): void => {
    event.preventDefault();
    setWanted(text === "" ? { view: "peek" } : { view: "search", search: text });
  };
  const jump = (event: FormEvent): void => {
    event.preventDefault();
    goTo(Math.max(Math.floor(Number(line)) || 1, 1));
  };
  const from = wanted.view === "slice" ? wanted.from : null;
  return (
    <>
      <div className="flex shrink-0 flex-wrap items-center gap-x-4 gap-y-2 border-b border-line px-4 py-2">
        <Button aria-pressed={wanted.view === "peek"} onClick={() => setWanted({ view: "peek" })}>
          Both ends
        </Button>
        <form className="flex items-center gap-1.5" onSubmit={jump}>
          <input
            aria-label="From line"
            inputMode="numeric"
            className="h-7 w-20 rounded-md border border-edge bg-panel px-2 max-sm:h-9"
            value={line}
            onChange={({ target }) => setLine(target.value.replaceAll(/\D/g, "").slice(0, 9))}
          />
          <Button type="submit">From this line</Button>
        </form>
        <form className="flex min-w-0 items-center gap-1.5" onSubmit={find}>
          <input
            type="search"
            aria-label="Search in it"
            placeholder="Lines with…"
            maxLength={1000}
            className="h-7 min-w-0 rounded-md border border-edge bg-panel px-2 max-sm:h-9"
            value={text}
            onChange={({ target }) => setText(target.value)}
          />
          <Button type="submit">Search</Button>
        </form>
        {value && (
          <span className="text-xs text-soft">
            {value.lines.toLocaleString("en")} lines, {value.characters.toLocaleString("en")}{" "}
            characters
          </span>
        )}
      </div>
      {piece.error !== null && <Problem error={piece.error} />}
      {value && (
        <Pane label="Artifact">
          <div className="px-4 py-2">
            {value.text === "" ? (
              <p className="text-soft">
                {wanted.view === "search" ? "No line has that." : "Nothing is there."}
              </p>
            ) : (
              <pre
                dir="auto"
                className="font-mono text-xs leading-[18px] wrap-anywhere whitespace-pre-wrap"
              >
                {/* The server gives no more at once than can be shown. */}
                <bdi>{harmlessText(value.text)}</bdi>
              </pre>
            )}
            {value.isCut && (
              <p className="mt-1 text-soft">This is not all of what was asked for.</p>
            )}
            {from !== null && (
              <p className="mt-2 flex gap-2">
                <Button disabled={from <= 1} onClick={() => goTo(Math.max(from - linesAtOnce, 1))}>
                  Lines before
                </Button>
                <Button
                  disabled={from + linesAtOnce > value.lines}
                  onClick={() => goTo(from + linesAtOnce)}
                >
                  Next lines
                </Button>
              </p>
            )}
          </div>
        </Pane>
      )}
    </>
  );
}
