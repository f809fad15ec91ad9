import type { Key } from "ink";
import type { Hotkey } from "../../../application/commands/profile-triggers.ts";
import type { Edit } from "./editor.ts";

/** The action of a key while a message is written. */
export type KeyAction =
  | Edit
  | "send"
  | "tab"
  | "up"
  | "down"
  | "escape"
  | "interrupt"
  | "leave"
  | "tree"
  | "inbox"
  | "sessions"
  | "help"
  | "search"
  | "redraw"
  | "suspend";

interface KeyRow {
  readonly keys: readonly string[];
  readonly action: KeyAction;
  /** For the list of keys; absent: common knowledge, or described by another row. */
  readonly help?: string;
}

/** All keys of the chat. Panels have their own: arrows, Enter, Escape, and those in their last line. */
export const keyTable: readonly KeyRow[] = [
  { keys: ["enter"], action: "send", help: "send; while it works: queue for after" },
  {
    keys: ["alt+enter", "ctrl+j", "shift+enter"],
    action: "newline",
    help: "new line (also \\ then Enter)",
  },
  { keys: ["tab"], action: "tab", help: "complete /command or @file; answer what is asked" },
  { keys: ["up", "ctrl+p"], action: "up", help: "line above; what you said before" },
  { keys: ["ctrl+r"], action: "search", help: "search what you said before, in other chats too" },
  { keys: ["down", "ctrl+n"], action: "down" },
  { keys: ["escape"], action: "escape", help: "close; a message, no answer; interrupt" },
  { keys: ["ctrl+c"], action: "interrupt", help: "interrupt; again: leave" },
  { keys: ["ctrl+d"], action: "leave", help: "leave, when nothing is typed" },
  { keys: ["ctrl+t"], action: "tree", help: "tree of agents" },
  { keys: ["ctrl+o"], action: "inbox", help: "inbox: questions, approvals, news" },
  { keys: ["ctrl+g"], action: "sessions", help: "go to another session" },
  { keys: ["ctrl+l"], action: "redraw", help: "redraw the screen" },
  { keys: ["ctrl+z"], action: "suspend", help: "to the shell; fg comes back" },
  { keys: ["left", "ctrl+b"], action: "left" },
  { keys: ["right", "ctrl+f"], action: "right" },
  { keys: ["alt+left", "alt+b", "ctrl+left"], action: "word-left", help: "word to the left" },
  { keys: ["alt+right", "alt+f", "ctrl+right"], action: "word-right", help: "word to the right" },
  { keys: ["home", "ctrl+a"], action: "line-start", help: "start of the line" },
  { keys: ["end", "ctrl+e"], action: "line-end", help: "end of the line" },
  { keys: ["backspace"], action: "backspace" },
  { keys: ["delete"], action: "delete" },
  { keys: ["ctrl+w", "alt+backspace"], action: "delete-word", help: "delete the word before" },
  { keys: ["ctrl+u"], action: "delete-to-start", help: "delete to the start of the line" },
  { keys: ["ctrl+k"], action: "delete-to-end", help: "delete to the end of the line" },
  { keys: ["?"], action: "help", help: "this list, when nothing is typed" },
];

const actions: ReadonlyMap<string, KeyAction> = new Map(
  keyTable.flatMap(({ action, keys }) => keys.map((key) => [key, action] as const)),
);

export function actionOf(chord: string): KeyAction | undefined {
  return chord === "?" ? undefined : actions.get(chord);
}

export interface UsableHotkey extends Hotkey {
  /** The chords of this surface for the hotkey. */
  readonly chords: readonly string[];
}

/**
 * The keys of profiles that this surface can take. Many terminals send Ctrl+Shift+P as Ctrl+P: so
 * Alt with the letter does the same. Keys of the table cannot be replaced.
 */
export function usableHotkeys(hotkeys: readonly Hotkey[]): readonly UsableHotkey[] {
  const taken = new Set(actions.keys());
  return hotkeys.flatMap((hotkey) => {
    const [, letter] = /^ctrl\+shift\+([a-z0-9])$/.exec(hotkey.keys) ?? [];
    const wanted = [hotkey.keys, ...(letter === undefined ? [] : [`alt+${letter}`])];
    const chords = wanted.filter((chord) => !taken.has(chord) && canBeSent(chord));
    for (const chord of chords) taken.add(chord);
    return chords.length === 0 ? [] : [{ ...hotkey, chords }];
  });
}

/** Ink does not distinguish function keys. */
function canBeSent(chord: string): boolean {
  return /^(?:(?:ctrl|alt|shift|meta)\+)+[a-z0-9]$/.test(chord);
}

/** The chord as people write it: `Ctrl+Shift+P`. */
export function showChord(chord: string): string {
  return chord
    .split("+")
    .map((part) => part.charAt(0).toUpperCase() + part.slice(1))
    .join("+");
}

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
    // Ink sets `meta` for Escape itself, because Escape is the prefix of Alt.
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
