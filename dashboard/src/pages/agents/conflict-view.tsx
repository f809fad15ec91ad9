import { Button } from "../../components/button.tsx";
import { diffLines } from "./diff-lines.ts";

interface ConflictViewProps {
  readonly version: number;
  readonly theirs: string;
  readonly mine: string;
  readonly onTakeTheirs: () => void;
  readonly onKeepMine: () => void;
}

const looks = {
  both: { mark: " ", look: "text-soft", word: "" },
  theirs: { mark: "−", look: "bg-hover text-bad", word: "theirs: " },
  mine: { mark: "+", look: "bg-hover text-good", word: "yours: " },
};

/** Another change was saved first: the saved text beside yours. */
export function ConflictView(props: ConflictViewProps) {
  const { version, theirs, mine, onTakeTheirs, onKeepMine } = props;
  const lines = diffLines(theirs, mine).map((line, index) => ({ ...line, number: index + 1 }));
  return (
    <section
      aria-labelledby="conflict"
      className="flex min-h-0 flex-1 flex-col gap-2 rounded-md border border-line border-l-[3px] border-l-warn bg-raised p-3"
    >
      <h2 id="conflict" className="font-semibold text-warn">
        It was changed in between, and is at version {version} now. Nothing of yours was saved.
      </h2>
      <p role="alert" className="text-soft">
        <span className="font-mono text-bad">−</span> is what is saved now,{" "}
        <span className="font-mono text-good">+</span> is what you wrote.
      </p>
      <pre
        role="region"
        aria-label="Differences"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users scroll it with keys.
        tabIndex={0}
        className="min-h-40 flex-1 overflow-auto rounded-md border border-line bg-page py-2 font-mono text-xs leading-[18px]"
      >
        {lines.map(({ number, side, text }) => (
          <span key={number} className={`block px-2 ${looks[side].look}`}>
            <span aria-hidden="true">{looks[side].mark} </span>
            <span className="sr-only">{looks[side].word}</span>
            <bdi>{text}</bdi>
          </span>
        ))}
      </pre>
      <div className="flex flex-wrap gap-2">
        <Button onClick={onTakeTheirs}>Take theirs</Button>
        <Button tone="main" onClick={onKeepMine}>
          Keep mine
        </Button>
        <span className="self-center text-xs text-soft">
          Keeping yours saves nothing yet: you see it in the editor first.
        </span>
      </div>
    </section>
  );
}
