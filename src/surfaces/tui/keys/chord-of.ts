import type { Key } from "ink";

/** One thing that came from the keyboard: a key with a name, or text. */
export type Pressed =
  | { readonly type: "key"; readonly chord: string }
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "paste"; readonly text: string };

const named = [
  ["upArrow", "up"],
  ["downArrow", "down"],
  ["leftArrow", "left"],
  ["rightArrow", "right"],
  ["pageUp", "pageup"],
  ["pageDown", "pagedown"],
  ["home", "home"],
  ["end", "end"],
  ["tab", "tab"],
  ["return", "enter"],
  ["backspace", "backspace"],
  ["delete", "delete"],
  ["escape", "escape"],
] as const satisfies readonly (readonly [keyof Key, string])[];

/**
 * What Ink says about a key press, as chords of the key table. A slow line delivers several
 * characters at once: keys before and after text are keys; line ends in the middle of it are a
 * paste from a terminal that does not mark pastes, and must not send anything.
 */
export function pressedOf(input: string, key: Key): readonly Pressed[] {
  if (key.eventType === "release") return [];
  const name = named.find(([flag]) => key[flag])?.[1];
  if (name !== undefined) {
    // Escape itself comes with the flag of the prefix that it is.
    return [
      { type: "key", chord: chordFrom(name, name === "escape" ? { ...key, meta: false } : key) },
    ];
  }
  if (input === "") return [];
  if (key.ctrl || key.meta) return [{ type: "key", chord: chordFrom(input.toLowerCase(), key) }];
  let [from, to] = [0, input.length];
  while (from < to && isControl(input[from])) from += 1;
  while (to > from && isControl(input[to - 1])) to -= 1;
  const text = input.slice(from, to);
  // Line ends before or between letters, or many of them: a paste from a terminal that marks none.
  const ends = input.replaceAll("\r\n", "\r").match(/[\r\n]/g) ?? [];
  const isPaste = /[\r\n]/.test(input.slice(0, to)) || ends.length > 1;
  if (text !== "" && isPaste) return [{ type: "paste", text: input }];
  return [
    ...Array.from(input.slice(0, from), keyOf),
    ...(text === "" ? [] : [{ type: "text", text } as const]),
    ...Array.from(input.slice(to).replaceAll("\r\n", "\r"), keyOf),
  ];
}

function isControl(letter: string | undefined): boolean {
  return letter !== undefined && letter > "\u0000" && letter <= "\u001a";
}

/** What a terminal sends for Ctrl with a letter. */
function keyOf(control: string): Pressed {
  if (control === "\r") return { type: "key", chord: "enter" };
  if (control === "\t") return { type: "key", chord: "tab" };
  const letter = String.fromCharCode(control.charCodeAt(0) + 96);
  return { type: "key", chord: `ctrl+${letter}` };
}

function chordFrom(name: string, key: Key): string {
  const parts = [
    ...(key.ctrl ? ["ctrl"] : []),
    ...(key.meta ? ["alt"] : []),
    ...(key.shift && name !== "tab" ? ["shift"] : []),
    name,
  ];
  return parts.join("+");
}
