import type { Profile } from "../../agents/profiles/profile.ts";
import type { AnyCommand } from "./command.ts";
import { commandsWith } from "./profile-words.ts";
import { claimTriggers, describeClaimants } from "./trigger-claims.ts";

/** A key that does what typing its command would do. */
export interface Hotkey {
  /** Modifiers in a fixed order, then the key: `ctrl+shift+p`. */
  readonly keys: string;
  readonly profile: string;
  /** The command, or its beginning where a text is still to be typed. */
  readonly command: string;
  readonly needsText: boolean;
}

export interface Hotkeys {
  readonly hotkeys: readonly Hotkey[];
  /** Keys that lead nowhere since several profiles claim them, in sentences. */
  readonly conflicts: readonly string[];
}

/** The keys that profiles ask for, for surfaces that have a keyboard. They decide which they can take. */
export function hotkeysOf(profiles: readonly Profile[]): Hotkeys {
  const { contested, granted } = claimTriggers(profiles, "hotkeys", normalise);
  const commands = commandsWith(profiles);
  return {
    hotkeys: [...granted]
      .filter(([keys]) => isChord(keys))
      .map(([keys, profile]) => hotkeyOf(keys, profile, commands)),
    conflicts: [...contested]
      .filter(([keys]) => isChord(keys))
      .map(
        ([keys, claimants]) => `Several profiles claim ${keys}: ${describeClaimants(claimants)}.`,
      ),
  };
}

const modifiers = ["ctrl", "alt", "shift", "meta"];

/** What everybody ends, leaves or stops programs with. */
const everybodys: ReadonlySet<string> = new Set(["ctrl+c", "ctrl+d", "ctrl+z"]);

const chordForm = /^(?:(?:(?:ctrl|alt|shift|meta)\+)+[a-z0-9]+|f[0-9]{1,2})$/;

/** One key with modifiers, or a function key: what people type is text, whatever a profile says. */
function isChord(keys: string): boolean {
  const [last = "", ...before] = keys.split("+").reverse();
  const isTyped = before.every((each) => each === "shift") && !/^f[0-9]{1,2}$/.test(last);
  return chordForm.test(keys) && !modifiers.includes(last) && !isTyped && !everybodys.has(keys);
}

/** `shift+ctrl+p` is the key `ctrl+shift+p`. */
function normalise(keys: string): string {
  const parts = keys.split("+").filter((part) => part !== "");
  const rank = (part: string): number => {
    const place = modifiers.indexOf(part);
    return place < 0 ? modifiers.length : place;
  };
  return [...new Set(parts)].sort((one, other) => rank(one) - rank(other)).join("+");
}

function hotkeyOf(keys: string, profile: Profile, commands: readonly AnyCommand[]): Hotkey {
  const { name, triggers } = profile;
  const own = commands.filter((command) => command.profile === name);
  const command = own.find((each) => triggers?.slash?.includes(each.name)) ?? own[0];
  const about = { keys, profile: name };
  if (command === undefined) return { ...about, command: `/spawnagent ${name} `, needsText: true };
  const needsText = "problem" in command.parse("");
  const typed = `/${command.name}`;
  return { ...about, command: needsText ? `${typed} ` : typed, needsText };
}
