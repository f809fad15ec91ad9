import type { Profile } from "../../agents/profiles/profile.ts";
import { firstSentence, storedLine } from "../../text.ts";
import { type AnyCommand, defineCommand } from "./command.ts";
import { commandTable } from "./command-table.ts";
import { claimTriggers, describeClaimants } from "./trigger-claims.ts";
import { startingCommand } from "./work/start-work.ts";
import { watchingCommand } from "./work/watching-command.ts";

/** No profile gets one of these, whatever it says. */
const builtInWords: ReadonlySet<string> = new Set(
  commandTable.map(({ name }) => name.split(" ")[0] ?? name),
);

const wordForm = /^[a-z][a-z0-9-]{0,31}$/;

/**
 * Every command that there is while these profiles can be used: ours, and a word for each profile
 * that wants one. Untrusted profiles of a repository are not included.
 */
export function commandsWith(profiles: readonly Profile[]): readonly AnyCommand[] {
  const words = wordsOf(profiles);
  return words.length === 0 ? commandTable : [...commandTable, ...words];
}

/** The words that profiles bring, in alphabetical order. */
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

/** A word that two profiles claim starts neither; the error names both. */
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
