import { shownName } from "../../../events/delegation.ts";
import { atMost, atMostCost } from "../../../events/spent.ts";
import { realPathOr } from "../../../files.ts";
import { listSessions } from "../../../sessions/list-sessions.ts";
import type { SessionRow } from "../../../sessions/session-row.ts";
import { formatAge, formatCost, formatTokens } from "../amounts.ts";
import type { Arguments } from "../arguments.ts";
import { displayWidth, padEnd, shorten } from "../display-width.ts";
import { exitCode } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { printableJson, printableLine } from "../printable.ts";
import { styleFor } from "../style.ts";
import { withStore } from "../with-store.ts";

/** The sessions of this folder, or of all of them. */
export async function listSessionsAt(given: Arguments, io: Io): Promise<number> {
  const query = {
    limit: given.count("limit"),
    before: given.text("before"),
    workspace: given.flag("all") ? undefined : realPathOr(io.cwd),
  };
  const sessions = await withStore(io, (store) => listSessions(store, query));
  if (given.flag("json")) {
    io.stdout.write(`${printableJson(sessions, 2)}\n`);
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
  const { glyphs, paint } = styleFor(io.stdout, io);
  const columns = io.stdout.isTerminal ? io.stdout.columns : 0;
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
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => displayWidth(row[column] ?? ""))),
  );
  const before = widths.slice(0, -1).reduce((sum, width) => sum + width + 2, 0);
  const room = columns === 0 ? Number.POSITIVE_INFINITY : Math.max(10, columns - 1 - before);
  const draw = (row: readonly string[]): string =>
    row
      .map((cell, column) =>
        column === head.length - 1
          ? shorten(cell, room, glyphs.ellipsis)
          : padEnd(cell, widths[column] ?? 0),
      )
      .join("  ");
  const last = (session: SessionRow): string =>
    paint.dim(
      `  ${shorten(printableLine(session.lastMessage), columns === 0 ? 120 : columns - 3)}`,
    );
  return [
    paint.dim(draw(head)),
    ...rows.flatMap((row, index) => {
      const session = sessions[index];
      return session === undefined || session.lastMessage === ""
        ? [draw(row)]
        : [draw(row), last(session)];
    }),
  ];
}
