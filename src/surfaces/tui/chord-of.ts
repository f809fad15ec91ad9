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
 * characters at once: a line end after one of them is Enter; line ends between them are a paste
 * from a terminal that does not mark pastes, and must not send anything.
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
  if (input === "\n") return [{ type: "key", chord: "ctrl+j" }];
  if (key.ctrl || key.meta) return [{ type: "key", chord: chordFrom(input.toLowerCase(), key) }];
  const [, line, rest] = /^([^\r\n]+)\r(\n?)$/.exec(input) ?? [];
  if (line !== undefined && rest !== undefined) {
    return [
      { type: "text", text: line },
      { type: "key", chord: "enter" },
    ];
  }
  if (/[\r\n]/.test(input)) return [{ type: "paste", text: input }];
  return [{ type: "text", text: input }];
}

function chordFrom(name: string, key: Key): string {
  const parts = [
    ...(key.ctrl ? ["ctrl"] : []),
    ...(key.meta ? ["alt"] : []),
    ...(key.shift && name !== "tab" && name !== "enter" ? ["shift"] : []),
    name,
  ];
  return parts.join("+");
}
