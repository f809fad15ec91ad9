import { type KeyboardEvent, useId, useRef } from "react";
import { Text } from "../../components/text.tsx";
import type { TextProblem } from "./registry-text.ts";

interface CodeEditorProps {
  readonly label: string;
  readonly text: string;
  readonly problems: readonly TextProblem[];
  readonly isReadOnly?: boolean;
  readonly onChange: (text: string) => void;
}

const indent = "  ";

/** A text with the numbers of its lines; what is wrong stands below and at its number. */
export function CodeEditor({
  label,
  text,
  problems,
  isReadOnly = false,
  onChange,
}: CodeEditorProps) {
  const area = useRef<HTMLTextAreaElement>(null);
  const numbers = useRef<HTMLPreElement>(null);
  const leaves = useRef(false);
  const problemsId = useId();
  const hintId = useId();
  const wrong = new Set(problems.map(({ line }) => line));
  const count = text.split("\n").length;

  const pressed = (event: KeyboardEvent<HTMLTextAreaElement>): void => {
    if (event.key === "Escape") {
      leaves.current = true;
      return;
    }
    const isLeaving = leaves.current || event.shiftKey;
    leaves.current = false;
    if (event.key !== "Tab" || isLeaving || isReadOnly) return;
    event.preventDefault();
    const { selectionStart, selectionEnd } = event.currentTarget;
    // The browser's own way, so that it can be undone; not every one has it.
    if (document.execCommand("insertText", false, indent)) return;
    onChange(text.slice(0, selectionStart) + indent + text.slice(selectionEnd));
  };

  const goTo = (line: number): void => {
    const element = area.current;
    if (element === null) return;
    const start =
      text
        .split("\n")
        .slice(0, line - 1)
        .join("\n").length + (line > 1 ? 1 : 0);
    element.focus();
    element.setSelectionRange(start, start + (text.split("\n")[line - 1]?.length ?? 0));
    element.scrollTop = Math.max((line - 4) * 18, 0);
  };

  return (
    <div className="flex min-h-0 flex-1 flex-col gap-2">
      <div className="flex min-h-64 flex-1 overflow-hidden rounded-md border border-edge bg-page focus-within:border-accent">
        <pre
          ref={numbers}
          aria-hidden="true"
          className="shrink-0 overflow-hidden border-r border-line py-2 text-right font-mono text-xs leading-[18px] text-soft select-none"
        >
          {Array.from({ length: count }, (_, index) => index + 1).map((line) => (
            <span
              key={line}
              className={`block min-w-10 px-2 ${wrong.has(line) ? "bg-bad font-semibold text-panel" : ""}`}
            >
              {line}
            </span>
          ))}
          <span className="block h-8" />
        </pre>
        <textarea
          ref={area}
          aria-label={label}
          aria-describedby={`${hintId} ${problems.length > 0 ? problemsId : ""}`.trim()}
          aria-invalid={problems.length > 0}
          readOnly={isReadOnly}
          spellCheck={false}
          autoCapitalize="off"
          autoComplete="off"
          wrap="off"
          dir="ltr"
          className="min-w-0 flex-1 resize-none bg-transparent p-2 font-mono text-xs leading-[18px] whitespace-pre outline-none"
          value={text}
          onChange={({ target }) => onChange(target.value)}
          onKeyDown={pressed}
          onScroll={({ currentTarget }) => {
            if (numbers.current) numbers.current.scrollTop = currentTarget.scrollTop;
          }}
        />
      </div>
      {problems.length > 0 && (
        <div id={problemsId} role="alert" className="max-h-40 shrink-0 overflow-auto">
          <ul className="flex flex-col gap-1">
            {problems.map(({ field, line, message }) => (
              <li key={`${line} ${field} ${message}`} className="wrap-anywhere text-bad">
                {line !== null && (
                  <button
                    type="button"
                    className="mr-2 font-mono text-xs underline"
                    onClick={() => goTo(line)}
                  >
                    line {line}
                  </button>
                )}
                {field !== null && <Text className="mr-2 font-mono text-xs">{field}</Text>}
                <Text>{message}</Text>
              </li>
            ))}
          </ul>
        </div>
      )}
      <p id={hintId} className="shrink-0 text-xs text-soft">
        {isReadOnly
          ? "Operators edit it; you can only look."
          : "Tab indents. To leave the text by keys: Escape, then Tab."}
      </p>
    </div>
  );
}
