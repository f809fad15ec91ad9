import type { Profile, Triggers } from "../../agents/profiles/profile.ts";
import { firstSentence, storedLine } from "../../text.ts";
import { type AnyCommand, defineCommand } from "./command.ts";
import { commandTable } from "./command-table.ts";
import { startingCommand, watchingCommand } from "./work-commands.ts";

/** First words of built-in commands, which no profile can claim. */
const builtInWords: ReadonlySet<string> = new Set(
  commandTable.map(({ name }) => name.split(" ")[0] ?? name),
);

const wordForm = /^[a-z][a-z0-9-]{0,31}$/;

/** All commands: the built-in ones, and those of usable profiles. Untrusted profiles have none. */
export function commandsWith(profiles: readonly Profile[]): readonly AnyCommand[] {
  const words = wordsOf(profiles);
  return words.length === 0 ? commandTable : [...commandTable, ...words];
}

/** The commands of profiles, in alphabetical order. */
function wordsOf(profiles: readonly Profile[]): readonly AnyCommand[] {
  const { contested, granted } = claimTriggers(profiles, "slash");
  const isFree = ([word]: readonly [string, unknown]): boolean =>
    wordForm.test(word) && !builtInWords.has(word);
  return [
    ...[...granted].filter(isFree).map(([word, profile]) => commandOfProfile(word, profile)),
    ...[...contested].filter(isFree).map(([word, claimants]) => contestedWord(word, claimants)),
  ].sort((one, other) => (one.name < other.name ? -1 : 1));
}

function commandOfProfile(name: string, profile: Profile): AnyCommand {
  const { capabilities } = profile;
  const about = storedLine(firstSentence(profile.description), 200);
  const of = { name, profile: profile.name, about };
  if (!capabilities.includes("watcher")) return startingCommand({ ...of, takes: "task" });
  return watchingCommand({ ...of, takesTask: capabilities.some((each) => each !== "watcher") });
}

/** A command that several profiles claim starts none; the error names them. */
function contestedWord(name: string, claimants: readonly Profile[]): AnyCommand {
  const problem = `Several profiles claim /${name}: ${describeClaimants(claimants)}. Name one of them: /spawnagent ${claimants[0]?.name ?? "profile"} <prompt>`;
  return defineCommand({
    name,
    form: "",
    about: "Claimed by several profiles, and so it starts none of them.",
    takesLines: true,
    parse: () => ({ problem }),
    execute: () => Promise.reject(new TypeError(problem)),
  });
}

/** A key that executes a command. */
export interface Hotkey {
  /** Modifiers in a fixed order, and the key: `ctrl+shift+p`. */
  readonly keys: string;
  readonly profile: string;
  /** The command, or its beginning if it needs a text. */
  readonly command: string;
  readonly needsText: boolean;
}

export interface Hotkeys {
  readonly hotkeys: readonly Hotkey[];
  /** Sentences about keys without effect, because several profiles claim them. */
  readonly conflicts: readonly string[];
}

/** The hotkeys of profiles. A surface with a keyboard decides which it can use. */
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

/** Keys that end, leave or stop programs. */
const everybodys: ReadonlySet<string> = new Set(["ctrl+c", "ctrl+d", "ctrl+z"]);

const chordForm = /^(?:(?:(?:ctrl|alt|shift|meta)\+)+[a-z0-9]+|f[0-9]{1,2})$/;

/** Whether this is a key with modifiers, or a function key; other keys are text input. */
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

interface TriggerClaims {
  /** The profile of each word or key. */
  readonly granted: ReadonlyMap<string, Profile>;
  /** Words or keys that several profiles claim, and so start none. */
  readonly contested: ReadonlyMap<string, readonly Profile[]>;
}

/**
 * Decides which profile gets a word or key. Shipped profiles come first, then the user's, then a
 * project's, so that no file can take over a known word; between equals none gets it.
 */
function claimTriggers(
  profiles: readonly Profile[],
  kind: keyof Triggers,
  nameOf: (trigger: string) => string = (trigger) => trigger,
): TriggerClaims {
  const claims = new Map<string, Profile[]>();
  for (const profile of profiles) {
    for (const name of new Set((profile.triggers?.[kind] ?? []).map(nameOf))) {
      claims.set(name, [...(claims.get(name) ?? []), profile]);
    }
  }
  const granted = new Map<string, Profile>();
  const contested = new Map<string, readonly Profile[]>();
  for (const [name, claimants] of claims) {
    const shipped = claimants.filter((profile) => isShipped(profile, kind));
    const own = claimants.filter((profile) => !isProjects(profile));
    const [first, ...others] = [shipped, own, claimants].find((some) => some.length > 0) ?? [];
    if (first === undefined) continue;
    if (others.length === 0) granted.set(name, first);
    else contested.set(name, [first, ...others]);
  }
  return { granted, contested };
}

/** Whether only a project has a profile of this name. */
function isProjects({ project }: Profile): boolean {
  return project !== undefined && project.own === undefined;
}

/** Whether the product defines this trigger: a project may add words to a shipped profile. */
function isShipped({ origin, origins }: Profile, kind: keyof Triggers): boolean {
  return (origins?.[`triggers.${kind}`] ?? origin).startsWith("built in");
}

/** `a (workspace: …/a.md) and b (user: …/b.md)` */
function describeClaimants(profiles: readonly Profile[]): string {
  const shown = profiles
    .slice(0, 3)
    .map(({ name, origin }) => `${name} (${storedLine(origin, 160)})`);
  const more = profiles.length - shown.length;
  return [...shown, ...(more > 0 ? [`${more} more`] : [])].join(" and ");
}
