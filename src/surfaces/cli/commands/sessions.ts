import { MandateError } from "../../../ports/mandate-error.ts";
import {
  exportSession,
  type SessionFormat,
  sessionFormats,
} from "../../../sessions/export-session.ts";
import { renameSession } from "../../../sessions/session-title.ts";
import type { Arguments } from "../arguments.ts";
import { type Command, jsonOption } from "../command.ts";
import { exitCode } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { printableJson, printableLine } from "../printable.ts";
import { findSession } from "../sessions/find-session.ts";
import { listSessionsAt } from "../sessions/list-sessions-at.ts";
import { showSession } from "../sessions/show-session.ts";
import { withStore } from "../with-store.ts";

export const sessionsCommand: Command = {
  name: "sessions",
  usage: "[options] [list | show [ID] | rename ID TITLE | export [ID]]",
  about:
    "Shows what was said. A session is a conversation with one agent, over as many runs as it took:\n" +
    "run --continue goes on with one. list has those of this folder, or of all of them; show prints\n" +
    "one, with breadcrumbs of its children, whose sessions are shown by their own ids. export writes\n" +
    "Markdown for people or JSONL for programs to standard output. Without an id: the latest one.",
  options: {
    json: jsonOption,
    all: { type: "flag", help: "sessions of every folder" },
    limit: { type: "text", value: "NUMBER", help: "how many at most (20)" },
    before: { type: "text", value: "ID", help: "those after this one in the list" },
    format: { type: "text", value: "NAME", help: "markdown or jsonl (markdown)" },
  },
  words: { least: 0, most: Number.POSITIVE_INFINITY },
  examples: [
    "sessions",
    'sessions rename 3f9a2c "The login page"',
    "sessions export 3f9a2c > login-page.md",
    'run --continue 3f9a2c "And now the tests"',
  ],
  run: sessions,
};

type Perform = (given: Arguments, io: Io, words: readonly string[]) => Promise<number>;

const words: Readonly<Record<string, Perform>> = {
  list: listSessionsAt,
  show: showSession,
  rename,
  export: exportTo,
};

async function sessions(given: Arguments, io: Io): Promise<number> {
  const [word = "list", ...rest] = given.words;
  const name = word === "ls" ? "list" : word;
  const perform = Object.hasOwn(words, name) ? words[name] : undefined;
  if (perform !== undefined) return perform(given, io, rest);
  const known = Object.keys(words).join(", ");
  throw new MandateError(
    "usage",
    `sessions knows ${known}; it does not know ${JSON.stringify(word.slice(0, 40))}.`,
  );
}

async function rename(
  given: Arguments,
  io: Io,
  [id, ...title]: readonly string[],
): Promise<number> {
  if (id === undefined || title.length === 0) {
    throw new MandateError(
      "usage",
      `A session and its title are needed: ${io.program} sessions rename ID "TITLE". An empty title takes the given one away.`,
    );
  }
  const by = { id: "local", role: "operator" } as const;
  const wanted = title.join(" ");
  const sessionId = await withStore(io, (store) => renameSession(store, id, wanted, by));
  if (given.flag("json")) {
    io.stdout.write(`${printableJson({ sessionId, title: wanted.trim() }, 2)}\n`);
  } else if (wanted.trim() === "") {
    io.stdout.write(`${sessionId} is called by its first message again.\n`);
  } else {
    io.stdout.write(`${sessionId} is called "${printableLine(wanted)}" from here on.\n`);
  }
  return exitCode.done;
}

async function exportTo(given: Arguments, io: Io, [id]: readonly string[]): Promise<number> {
  const asked = given.text("format") ?? (given.flag("json") ? "jsonl" : "markdown");
  if (!sessionFormats.includes(asked as SessionFormat)) {
    throw new MandateError("usage", `--format is one of ${sessionFormats.join(", ")}.`);
  }
  return withStore(io, async (store) => {
    const which = await findSession(store, id, io.cwd, io);
    for await (const piece of exportSession(store, which, asked as SessionFormat)) {
      io.stdout.write(piece);
    }
    return exitCode.done;
  });
}
