import { describeStatus } from "../../../events/close-reason.ts";
import { shownName } from "../../../events/delegation.ts";
import { atMost, atMostCost } from "../../../events/spent.ts";
import { realPathOr } from "../../../files.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import {
  exportSession,
  type SessionFormat,
  sessionFormats,
} from "../../../sessions/export-session.ts";
import { listSessions, type SessionRow } from "../../../sessions/list-sessions.ts";
import { type AgentSession, readSession } from "../../../sessions/read-session.ts";
import {
  type AgentSessionContext,
  isByPerson,
  type SessionTrigger,
} from "../../../sessions/session.ts";
import type { SessionEntry } from "../../../sessions/session-entry.ts";
import { renameSession } from "../../../sessions/session-records.ts";
import { formatAge, formatCost, formatTokens } from "../amounts.ts";
import {
  type Arguments,
  anyWords,
  type Command,
  chosenFrom,
  flag,
  jsonOption,
  text,
} from "../command.ts";
import { shorten } from "../display-width.ts";
import { drawTable } from "../draw-table.ts";
import { exitCode } from "../exit-code.ts";
import { findSession } from "../find-target.ts";
import { type Io, localUser } from "../io.ts";
import { indented, printableJson, printableLine, printJson } from "../printable.ts";
import { type Style, styleFor } from "../style.ts";
import { withStore } from "../with-store.ts";

export const sessionsCommand: Command = {
  name: "sessions",
  usage: "[options] [list | show [ID] | rename ID TITLE | export [ID]]",
  about:
    "Shows conversations. A session is a conversation with one agent over one or more runs; run\n" +
    "--continue continues it. list has the sessions of this folder, or of all folders; show prints one,\n" +
    "with a line for each child, whose session has its own id. export writes Markdown for people or\n" +
    "JSONL for programs to standard output. Without an id: the latest session.",
  options: {
    json: jsonOption,
    all: flag("sessions of every folder"),
    limit: text("NUMBER", "how many at most (20)"),
    before: text("ID", "sessions after this one in the list"),
    format: text("NAME", "markdown or jsonl (markdown)"),
  },
  words: anyWords,
  examples: [
    "sessions",
    'sessions rename 3f9a2c "The login page"',
    "sessions export 3f9a2c > login-page.md",
    'run --continue 3f9a2c "And now the tests"',
  ],
  run: (given, io) => {
    const [word, ...rest] = given.words;
    return chosenFrom("sessions", words, word)(given, io, rest);
  },
};

type Perform = (given: Arguments, io: Io, words: readonly string[]) => Promise<number>;

const words: Readonly<Record<string, Perform>> = {
  list: listSessionsAt,
  show: showSession,
  rename,
  export: exportTo,
};

async function rename(
  given: Arguments,
  io: Io,
  [id, ...title]: readonly string[],
): Promise<number> {
  if (id === undefined || title.length === 0) {
    throw new MandateError(
      "usage",
      `A session and its title are needed: ${io.program} sessions rename ID "TITLE". An empty title removes the given one.`,
    );
  }
  const wanted = title.join(" ");
  const sessionId = await withStore(io, (store) => renameSession(store, id, wanted, localUser));
  if (given.flag("json")) {
    printJson(io, { sessionId, title: wanted.trim() });
  } else if (wanted.trim() === "") {
    io.stdout.write(`${sessionId} has its first message as its title again.\n`);
  } else {
    io.stdout.write(`${sessionId} is called "${printableLine(wanted)}" now.\n`);
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

/** The sessions of this folder, or of all of them. */
async function listSessionsAt(given: Arguments, io: Io): Promise<number> {
  const query = {
    limit: given.count("limit"),
    before: given.text("before"),
    workspace: given.flag("all") ? undefined : realPathOr(io.cwd),
  };
  const sessions = await withStore(io, (store) => listSessions(store, query));
  if (given.flag("json")) {
    printJson(io, sessions);
    return exitCode.done;
  }
  if (sessions.length === 0) {
    const where = given.flag("all")
      ? ""
      : ` in this folder (elsewhere: ${io.program} sessions --all)`;
    io.stderr.write(`There are no sessions${where}. Start one: ${io.program} run "…"\n`);
    return exitCode.done;
  }
  for (const line of table(sessions, io)) io.stdout.write(`${line}\n`);
  return exitCode.done;
}

const head = ["SESSION", "STATUS", "AGENT", "RUNS", "TOKENS", "COST", "UPDATED", "TITLE"];

function table(sessions: readonly SessionRow[], io: Io): string[] {
  const { paint } = styleFor(io.stdout, io);
  const rows = sessions.map((session) => [
    session.id,
    session.status,
    printableLine(shownName(session)),
    String(session.runs),
    atMost(formatTokens(session.tokens), session),
    atMostCost(formatCost(session.cost), session),
    formatAge(io.now() - session.updatedAt),
    printableLine(session.title),
  ]);
  const columns = head.map((title) => ({ title }));
  const [first = "", ...lines] = drawTable(columns, rows, io);
  const room = io.stdout.isTerminal ? io.stdout.columns - 3 : 120;
  return [
    first,
    ...lines.flatMap((line, index) => {
      const last = printableLine(sessions[index]?.lastMessage ?? "");
      return last === "" ? [line] : [line, paint.dim(`  ${shorten(last, room)}`)];
    }),
  ];
}

/** One session: its agent, workspace, trigger and conversation. */
function showSession(given: Arguments, io: Io, [id]: readonly string[]): Promise<number> {
  return withStore(io, async (store) => {
    const session = await readSession(store, await findSession(store, id, io.cwd, io));
    io.stdout.write(
      given.flag("json")
        ? `${printableJson(session, 2)}\n`
        : `${describeSession(session, styleFor(io.stdout, io)).join("\n")}\n`,
    );
    if (session.context?.parentId === null && session.context.finishedAt !== null) {
      io.stderr.write(`Continue it: ${io.program} run --continue ${session.sessionId} "…"\n`);
    }
    return session.problems.length === 0 ? exitCode.done : exitCode.failed;
  });
}

function describeSession(session: AgentSession, style: Style): string[] {
  const { paint } = style;
  const { context } = session;
  return [
    `${paint.strong(printableLine(session.title))}  ${paint.dim(session.sessionId)}`,
    ...(context === null ? [] : describeContext(context)),
    ...session.problems.map((problem) => paint.bad(printableLine(problem))),
    ...session.entries.flatMap((entry) => ["", ...describeEntry(entry, context, style)]),
  ];
}

function describeContext(context: AgentSessionContext): string[] {
  const { agentId, capability, closeReason, runIds, status, trigger, workspace } = context;
  const ended = closeReason === null ? status : describeStatus(status, closeReason);
  const writes = workspace.allowWrites ? "" : ", read only";
  return [
    `${printableLine(agentId)} as ${capability}, ${ended}, by ${describeTrigger(trigger)}`,
    ...(workspace.root === null ? [] : [`workspace ${printableLine(workspace.root)}${writes}`]),
    ...(runIds.length > 1 ? [`runs ${runIds.join(", ")}`] : []),
  ];
}

function describeTrigger(trigger: SessionTrigger): string {
  switch (trigger.by) {
    case "person":
      return "a person";
    case "program":
      return printableLine(trigger.name);
    case "tool":
      return printableLine(trigger.tool);
    case "slash":
      return printableLine(trigger.word);
    case "step":
      return `step ${printableLine(trigger.step)} of a plan`;
    case "watcher":
      return `watching ${printableLine(trigger.watches)}`;
    default:
      return trigger satisfies never;
  }
}

function describeEntry(
  entry: SessionEntry,
  context: AgentSessionContext | null,
  { paint }: Style,
): string[] {
  switch (entry.kind) {
    case "person":
      return [
        paint.strong(context === null || isByPerson(context.trigger) ? "Person" : "Task"),
        indented(entry.text),
      ];
    case "agent":
      return [paint.strong(printableLine(context?.agentId ?? "Agent")), indented(entry.text)];
    case "call":
      return [paint.dim(`  ${printableLine(entry.tool)}: ${entry.outcome}`)];
    case "remark":
      return [
        `${printableLine(entry.from)} (${printableLine(entry.severity)})`,
        indented(entry.text),
      ];
    case "question":
      return ["Question", indented(entry.text), indented(entry.answer ?? "No answer.")];
    case "child": {
      const { delegationId, profile, status, summary } = entry.breadcrumb;
      const who = `${printableLine(profile)} ${delegationId} ${status}`;
      return [paint.dim(`  ${who}: ${printableLine(summary)}`)];
    }
    case "note":
      return [paint.dim(`  ${printableLine(entry.text)}`)];
    case "lost":
      return [paint.bad(`  Something is missing here: ${printableLine(entry.text)}`)];
    default:
      return entry satisfies never;
  }
}
