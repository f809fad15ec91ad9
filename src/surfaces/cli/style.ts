import { displayWidth } from "./display-width.ts";
import type { Io, Writer } from "./io.ts";

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

type Environment = Io["environment"];

/** By the locale, as every terminal program decides; without one, what terminals are today. */
export function speaksUtf8(environment: Environment): boolean {
  const locale = environment["LC_ALL"] || environment["LC_CTYPE"] || environment["LANG"];
  return !locale || /utf-?8/i.test(locale);
}

const foreign = /[\u0080-\u{10ffff}]/gu;

/**
 * What a terminal is given. One that reads bytes as letters takes parts of UTF-8 for orders: the
 * second byte of Û begins an escape sequence there. It gets question marks, as wide as they stand for.
 */
export function terminalLetters(environment: Environment): (text: string) => string {
  if (speaksUtf8(environment)) return (text) => text;
  return (text) => text.replaceAll(foreign, (letter) => "?".repeat(displayWidth(letter)));
}

/**
 * Text that stays on its lines: what is too wide for one is cut by the terminal. However wide it
 * draws a letter, nothing goes on where the next line begins. Switched on again at once, so that a
 * killed process leaves a terminal that works.
 */
export function onOwnLines(text: string): string {
  return `\u001b[?7l${text}\u001b[?7h`;
}

/** How long a line may be. A pipe has no width: room for titles is worth more there than short lines. */
export function lineWidth(writer: Writer): number {
  return writer.isTerminal ? writer.columns : 120;
}
