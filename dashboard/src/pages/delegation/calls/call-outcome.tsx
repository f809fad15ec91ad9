import type { ToolCall } from "./tool-calls-of.ts";

type Outcome = ToolCall["outcome"];

const looks: Readonly<
  Record<Outcome, { readonly tone: string; readonly word: string; readonly path: string }>
> = {
  asked: { tone: "text-soft", word: "Asked for", path: "M8 8h.1" },
  running: { tone: "text-busy", word: "Running", path: "M5 3.5v9l7-4.5Z" },
  done: { tone: "text-good", word: "Completed", path: "m3 8.5 3.5 3.5L13 4.5" },
  failed: { tone: "text-bad", word: "Failed", path: "m4 4 8 8M12 4l-8 8" },
  refused: {
    tone: "text-warn",
    word: "Denied",
    path: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11ZM4.2 4.2l7.6 7.6",
  },
  unknown: {
    tone: "text-warn",
    word: "Unknown",
    path: "M6 6a2 2 0 1 1 2.6 2c-.5.2-.6.6-.6 1.2M8 12v.1",
  },
};

export function CallOutcome({ outcome }: { readonly outcome: Outcome }) {
  const { path, tone, word } = looks[outcome];
  return (
    <span className={`flex items-center gap-1.5 ${tone}`}>
      <svg
        viewBox="0 0 16 16"
        className="size-3.5 shrink-0"
        fill="none"
        stroke="currentColor"
        strokeWidth="1.75"
        strokeLinecap="round"
        strokeLinejoin="round"
        aria-hidden="true"
      >
        <path d={path} />
      </svg>
      <span className="max-sm:sr-only">{word}</span>
    </span>
  );
}
