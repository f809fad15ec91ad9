import { existsSync } from "node:fs";
import { runsWithCopies } from "../../../application/kept-copies.ts";
import { consentModes } from "../../../control/folders/decide-consent.ts";
import { findPlaces } from "../../../control/places.ts";
import { roles } from "../../../control/records/principal.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import type { Store } from "../../../ports/store.ts";
import { anyWords, type Command, shownOptions } from "../command.ts";
import { commandNamed, commands } from "../commands.ts";
import { exitCode } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { printableLine } from "../printable.ts";
import { withControl, withStore } from "../with-store.ts";

/** Each script asks `completion words` for what can follow; nothing to offer means names of files. */
const scripts: Readonly<Record<string, string>> = {
  bash: `# In ~/.bashrc: eval "$(mandate completion bash)"
_mandate() {
  local word words=() IFS=$'\\n'
  # Bash takes --name=value apart; mandate reads the value as the next word.
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD}"; do [ "$word" = "=" ] || words+=("$word"); done
  [ "$word" != "=" ] || words+=("")
  COMPREPLY=($(mandate completion words -- "\${words[@]}" 2>/dev/null | cut -f 1))
}
complete -o default -F _mandate mandate
`,
  zsh: `#compdef mandate
# In ~/.zshrc, after compinit: eval "$(mandate completion zsh)"
_mandate() {
  local line
  local -a found
  for line in "\${(@f)$(mandate completion words -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -z $line ]] || found+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  if (( $#found )); then _describe mandate found; else _files; fi
}
compdef _mandate mandate
`,
  fish: `# In ~/.config/fish/config.fish: mandate completion fish | source
function __mandate_words
  set -l typed (commandline -opc) (commandline -ct)
  set -l found (mandate completion words -- $typed[2..] 2>/dev/null)
  if set -q found[1]; printf '%s\\n' $found; else; __fish_complete_path (commandline -ct); end
end
complete -c mandate -f -a '(__mandate_words)'
`,
};

export const completionCommand: Command = {
  name: "completion",
  usage: "bash | zsh | fish",
  about:
    "Prints a script that completes commands, options, and the names of profiles, runs and questions\n" +
    "in your shell. Each script says where it belongs. It is for a mandate that is on your PATH.",
  options: {},
  words: anyWords,
  examples: ["completion bash"],
  run: async ({ words: [shell = "", ...typed] }, io) => {
    if (shell === "words") {
      const current = typed.at(-1) ?? "";
      const found = (await candidates(typed, io).catch(() => [])).filter(
        // A name that a shell would take apart is not offered.
        ([word]) => word.startsWith(current) && /^[\w@%+=:,./-]+$/.test(word),
      );
      for (const [word, about] of found) io.stdout.write(`${word}\t${printableLine(about)}\n`);
      return exitCode.done;
    }
    const script = Object.hasOwn(scripts, shell) ? scripts[shell] : undefined;
    if (script === undefined || typed.length > 0) {
      throw new MandateError(
        "usage",
        "completion takes the name of your shell: bash, zsh or fish.",
      );
    }
    io.stdout.write(script);
    return exitCode.done;
  },
};

type Candidate = readonly [word: string, about: string];

/** What may stand in place of the last word, which is not complete. */
async function candidates(typed: readonly string[], io: Io): Promise<readonly Candidate[]> {
  const [name = ""] = typed;
  if (typed.length <= 1) {
    const known = Object.entries(commands).filter(([word]) => !word.startsWith("/"));
    return [...known.map(([word, { summary }]): Candidate => [word, summary]), help];
  }
  if (name === "help") return candidates(typed.slice(1, 2), io);
  const command = await commandNamed(name)?.load();
  if (command === undefined) return [];
  const [current = "", previous = ""] = typed.toReversed();
  const [, inline] = /^--([a-z-]+)=/.exec(current) ?? [];
  if (inline !== undefined) {
    const values = await valuesOf(inline, command, io);
    return values.map(([word, about]) => [`--${inline}=${word}`, about]);
  }
  const option = optionNamed(command, previous);
  if (option !== undefined && command.options[option]?.type === "text") {
    return valuesOf(option, command, io);
  }
  if (!current.startsWith("-")) return wordsOf(name, typed.slice(1), io);
  const options = shownOptions(command).map(
    ({ form, help: about }): Candidate => [form.split(/[ [=]/)[0] ?? form, about],
  );
  return [...options, ["--help", "say what this command takes"]];
}

const help: Candidate = ["help", "say more about a command"];

function optionNamed({ options }: Command, word: string): string | undefined {
  const named = Object.entries(options).find(
    ([name, { short }]) => word === `--${name}` || (short !== undefined && word === `-${short}`),
  );
  return named?.[0];
}

/** By the option's name, or by what stands for its value in help; other values are files or texts. */
async function valuesOf(name: string, { options }: Command, io: Io): Promise<readonly Candidate[]> {
  const option = Object.hasOwn(options, name) ? options[name] : undefined;
  if (option === undefined || option.type === "flag") return [];
  if (name === "profile" || option.value === "PROFILE") return profiles(io);
  if (option.value === "RUN") return runs(io);
  const fixed = { MODE: consentModes, ROLE: roles, WAY: ["wait", "detach", "cancel"] };
  const words = Object.entries(fixed).find(([value]) => value === option.value)?.[1] ?? [];
  return words.map((word) => [word, ""]);
}

type Source = (io: Io) => Promise<readonly Candidate[]>;

/** What follows a command: its own words first, and then names. */
const following: Readonly<Record<string, { readonly words?: string; readonly names?: Source }>> = {
  answer: { names: questions },
  cancel: { names: (io) => runs(io, ({ outcome }) => outcome === null) },
  completion: { words: "bash zsh fish" },
  config: { words: "list get path" },
  diff: { names: runsWithChanges },
  discard: { names: runsWithChanges },
  folders: { words: "list set forget" },
  fork: { names: runs },
  logs: { names: runs },
  memory: { words: "list show promote forget" },
  merge: { names: runsWithChanges },
  profiles: { words: "list show check trust distrust", names: profiles },
  replay: { names: runs },
  result: { names: runs },
  resume: { names: (io) => runs(io, ({ outcome }) => outcome !== "succeeded") },
  sessions: { words: "list show rename export", names: runs },
  show: { names: runs },
  token: { words: "list create revoke show rotate" },
  tree: { names: runs },
};

async function wordsOf(
  name: string,
  typed: readonly string[],
  io: Io,
): Promise<readonly Candidate[]> {
  const { names, words } = (Object.hasOwn(following, name) ? following[name] : undefined) ?? {};
  const given = typed.filter((word) => !word.startsWith("-"));
  if (words !== undefined && given.length <= 1) return words.split(" ").map((word) => [word, ""]);
  const most = words === undefined ? 1 : 2;
  return names !== undefined && given.length <= most ? names(io) : [];
}

const mostRuns = 30;

function runs(
  io: Io,
  isWanted: (run: Awaited<ReturnType<Store["listRuns"]>>[number]) => boolean = () => true,
): Promise<readonly Candidate[]> {
  return fromStore(io, async (store) =>
    (await store.listRuns({ limit: mostRuns }))
      .filter(isWanted)
      .map(({ id, outcome, task }) => [id, `${outcome ?? "open"}: ${task.slice(0, 60)}`]),
  );
}

async function runsWithChanges(io: Io): Promise<readonly Candidate[]> {
  const { home } = findPlaces(io.environment);
  const withChanges = await fromStore(io, async (store) => [
    ...(await runsWithCopies({ store, home })),
  ]);
  return runs(io, ({ id }) => withChanges.includes(id));
}

function questions(io: Io): Promise<readonly Candidate[]> {
  return fromStore(io, async (store) => {
    const { Inbox } = await import("../../../sessions/inbox.ts");
    const items = await new Inbox(store, { reader: "local" }).open({ limit: mostRuns });
    return items.flatMap(({ ask, text }) => (ask === undefined ? [] : [[ask.id, text] as const]));
  });
}

async function profiles(io: Io): Promise<readonly Candidate[]> {
  if (!hasDatabase(io)) return [];
  return withControl(io, async ({ profiles: registry }) =>
    registry.all().map(({ description, name }) => [name, description ?? ""]),
  );
}

async function fromStore<Value>(
  io: Io,
  read: (store: Store) => Promise<readonly Value[]>,
): Promise<readonly Value[]> {
  return hasDatabase(io) ? withStore(io, read) : [];
}

/** A key press creates no database. */
function hasDatabase({ environment }: Io): boolean {
  const { database } = findPlaces(environment);
  return existsSync(database) || environment["MANDATE_DATABASE_URL"] !== undefined;
}
