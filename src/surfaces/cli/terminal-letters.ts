import { displayWidth } from "./display-width.ts";
import type { Io } from "./io.ts";

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
