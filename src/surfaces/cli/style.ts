import type { Io, Writer } from "./io.ts";
import { speaksUtf8 } from "./terminal-letters.ts";

/** How text is drawn on one writer: with colours or without, with line drawing or plain letters. */
export interface Style {
  readonly paint: Paint;
  readonly glyphs: Glyphs;
}

type Tone = "good" | "bad" | "warn" | "accent" | "dim" | "strong";

export type Paint = Readonly<Record<Tone, (text: string) => string>>;

export interface Glyphs {
  readonly branch: string;
  readonly lastBranch: string;
  readonly stem: string;
  readonly space: string;
  readonly done: string;
  readonly failed: string;
  readonly stopped: string;
  readonly asking: string;
  readonly queued: string;
  readonly refused: string;
  readonly arrow: string;
  readonly dot: string;
  readonly ellipsis: string;
  readonly spinner: readonly string[];
}

const unicode: Glyphs = {
  branch: "├─ ",
  lastBranch: "└─ ",
  stem: "│  ",
  space: "   ",
  done: "✓",
  failed: "✗",
  stopped: "■",
  asking: "?",
  queued: "○",
  refused: "⊘",
  arrow: "→",
  dot: "·",
  ellipsis: "…",
  spinner: ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"],
};

const ascii: Glyphs = {
  branch: "|- ",
  lastBranch: "`- ",
  stem: "|  ",
  space: "   ",
  done: "+",
  failed: "x",
  stopped: "#",
  asking: "?",
  queued: "o",
  refused: "!",
  arrow: "->",
  dot: "-",
  ellipsis: "...",
  spinner: ["|", "/", "-", "\\"],
};

const codes: Readonly<Record<Tone, readonly [number, number]>> = {
  good: [32, 39],
  bad: [31, 39],
  warn: [33, 39],
  accent: [36, 39],
  dim: [2, 22],
  strong: [1, 22],
};

export function styleFor(writer: Writer, { environment }: Pick<Io, "environment">): Style {
  const isColoured = writer.isTerminal && !environment["NO_COLOR"];
  const tone = (name: Tone) => {
    const [on, off] = codes[name];
    return (text: string) =>
      isColoured && text !== "" ? `\u001b[${on}m${text}\u001b[${off}m` : text;
  };
  return {
    paint: {
      good: tone("good"),
      bad: tone("bad"),
      warn: tone("warn"),
      accent: tone("accent"),
      dim: tone("dim"),
      strong: tone("strong"),
    },
    glyphs: speaksUnicode(environment) ? unicode : ascii,
  };
}

/** The console of Linux reads UTF-8, and has few of its letters. */
function speaksUnicode(environment: Io["environment"]): boolean {
  return environment["TERM"] !== "linux" && speaksUtf8(environment);
}
