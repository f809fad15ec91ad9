import { MandateError } from "../../../ports/mandate-error.ts";
import type { Arguments } from "../arguments.ts";
import { type Command, jsonOption } from "../command.ts";
import type { Io } from "../io.ts";
import { checkProfiles } from "../profiles/check-profiles.ts";
import { listProfiles } from "../profiles/list-profiles.ts";
import { showProfile } from "../profiles/show-profile.ts";
import { trustProfiles } from "../profiles/trust-profiles.ts";

export const profilesCommand: Command = {
  name: "profiles",
  usage:
    "[options] [list | show NAME | check PATH... | trust [NAME-OR-PATH...] | distrust NAME...]",
  about:
    "Shows who an agent can be. list is what there is; show prints one profile as it is in effect, and\n" +
    "where each field came from. check reads agent files of any program and reports on each: what is\n" +
    "wrong with it, and what would be lost. Profiles, skills, agents of other programs and the\n" +
    "mandate.yaml of a project have no effect until you trust them as they are; a changed file has none\n" +
    "again. trust shows what it is about at a terminal, and refuses what could not be used.",
  options: {
    json: jsonOption,
    all: { type: "flag", help: "trust everything that waits for it here" },
  },
  words: { least: 0, most: Number.POSITIVE_INFINITY },
  examples: [
    "profiles",
    "profiles show coder",
    "profiles check .claude/agents",
    "profiles trust reviewer",
  ],
  run: profiles,
};

const words: Readonly<
  Record<string, (given: Arguments, io: Io, names: readonly string[]) => Promise<number>>
> = {
  list: (given, io) => listProfiles(given, io),
  show: (given, io, names) => showProfile(given, io, names),
  check: (given, io, paths) => checkProfiles(given, io, paths),
  trust: (given, io, names) => trustProfiles(given, io, names, true),
  distrust: (given, io, names) => trustProfiles(given, io, names, false),
};

async function profiles(given: Arguments, io: Io): Promise<number> {
  const [word = "list", ...names] = given.words;
  const perform = Object.hasOwn(words, word === "ls" ? "list" : word)
    ? words[word === "ls" ? "list" : word]
    : undefined;
  if (perform !== undefined) return perform(given, io, names);
  const known = Object.keys(words).join(", ");
  throw new MandateError("usage", `profiles knows ${known}; it does not know "${word}".`);
}
