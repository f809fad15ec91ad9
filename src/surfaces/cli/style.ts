import { displayWidth } from "./display-width.ts";
import type { Io, Writer } from "./io.ts";

/** How text is drawn on one writer: with or without colours, in Unicode or ASCII. */
export interface Style {
  readonly paint: Paint;
  readonly glyphs: Glyphs;
}

type Tone =
  | "good"
  | "bad"
  | "warn"
  | "accent"
  | "dim"
  | "strong"
  | "emphasis"
  | "underlined"
  | "struck";

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
  emphasis: [3, 23],
  underlined: [4, 24],
  struck: [9, 29],
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
      emphasis: tone("emphasis"),
      underlined: tone("underlined"),
      struck: tone("struck"),
    },
    glyphs: speaksUnicode(environment) ? unicode : ascii,
  };
}

/** The Linux console reads UTF-8, and has few of its letters. */
function speaksUnicode(environment: Io["environment"]): boolean {
  return environment["TERM"] !== "linux" && speaksUtf8(environment);
}

type Environment = Io["environment"];

/** Decided by the locale, as in every terminal program; without a locale, UTF-8. */
export function speaksUtf8(environment: Environment): boolean {
  const locale = environment["LC_ALL"] || environment["LC_CTYPE"] || environment["LANG"];
  return !locale || /utf-?8/i.test(locale);
}

const foreign = /[\u0080-\u{10ffff}]/gu;

/**
 * Makes text safe for the terminal. A terminal that reads bytes as letters takes parts of UTF-8 for
 * control codes: the second byte of Û begins an escape sequence. It gets question marks of the same
 * width instead.
 */
export function terminalLetters(environment: Environment): (text: string) => string {
  if (speaksUtf8(environment)) return (text) => text;
  return (text) => text.replaceAll(foreign, (letter) => "?".repeat(displayWidth(letter)));
}

/**
 * Text that the terminal cuts at the edge instead of wrapping, however wide it draws a letter.
 * Wrapping is switched on again at once, so that a killed process leaves a terminal that works.
 */
export function onOwnLines(text: string): string {
  return `\u001b[?7l${text}\u001b[?7h`;
}

/** Terminals that open links (OSC 8), by what they say of themselves; tmux and screen may drop them. */
export function opensLinks(writer: Writer, { environment }: Pick<Io, "environment">): boolean {
  const { TERM = "", TERM_PROGRAM = "", VTE_VERSION = "0" } = environment;
  if (!writer.isTerminal || environment["NO_COLOR"] || environment["TMUX"]) return false;
  if (/^(?:dumb|linux|screen|tmux)/.test(TERM)) return false;
  return (
    /^(?:iTerm\.app|WezTerm|ghostty|vscode|Hyper|Tabby|rio)$/.test(TERM_PROGRAM) ||
    Number(VTE_VERSION) >= 5000 ||
    /kitty|alacritty|foot|ghostty/.test(TERM) ||
    ["WT_SESSION", "KONSOLE_VERSION", "DOMTERM"].some((name) => environment[name])
  );
}

/** How long a line may be. A pipe has no width, and gets long lines with whole titles. */
export function lineWidth(writer: Writer): number {
  return writer.isTerminal ? writer.columns : 120;
}
