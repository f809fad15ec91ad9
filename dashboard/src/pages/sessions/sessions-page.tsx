import { useState } from "react";
import { shownName } from "../../../../src/events/delegation.ts";
import { Money, Time, Tokens } from "../../components/amounts.tsx";
import { Button } from "../../components/button.tsx";
import { CommandLine } from "../../components/command-line.tsx";
import { Empty } from "../../components/empty.tsx";
import { Problem } from "../../components/problem.tsx";
import { type ShownState, StateBadge } from "../../components/state-badge.tsx";
import { Text } from "../../components/text.tsx";
import { narrow, useMedia } from "../../components/use-media.ts";
import { client } from "../../data/client.ts";
import { useAskingRuns } from "../../data/open-asks.ts";
import { useLiveQuery } from "../../data/use-live-query.ts";
import { Link } from "../../router/link.tsx";
import { navigate, useQueryWord } from "../../router/router.ts";
import { useKeys } from "../../shell/keys.ts";
import { type SessionRow, shownSession } from "./session-status.ts";
import { SessionView } from "./session-view.tsx";

const perPage = 50;

export function SessionsPage() {
  const [chosen] = useQueryWord("session", "");
  const [search, setSearch] = useState("");
  const [pages, setPages] = useState(1);
  const isNarrow = useMedia(narrow);
  const {
    data: value,
    error,
    refetch,
  } = useLiveQuery({
    key: ["sessions", pages],
    load: (signal) => loadSessions(pages, signal),
    changedBy: ({ type }) => ["run.started", "run.finished", "run.resumed"].includes(type),
  });
  const asking = useAskingRuns();
  const wanted = search.trim().toLowerCase();
  const rows = (value?.rows ?? []).filter((row) =>
    `${row.id} ${row.title} ${shownName(row)} ${row.lastMessage}`.toLowerCase().includes(wanted),
  );
  // Where there is room for both, the latest one is open until another one is chosen.
  const isLatest = chosen === "" && !isNarrow;
  const index = isLatest ? 0 : rows.findIndex(({ id, runId }) => id === chosen || runId === chosen);
  const move = (step: number): void => {
    const next = rows[Math.min(Math.max(index + step, 0), rows.length - 1)];
    if (next) navigate(`/sessions?session=${next.id}`);
  };
  useKeys([
    { keys: "j", label: "Next session", run: () => move(1) },
    { keys: "k", label: "Session before", run: () => move(-1) },
  ]);
  if (error !== null && value === undefined) return <Problem error={error} onRetry={refetch} />;
  if (value?.rows.length === 0 && chosen === "") {
    return (
      <>
        <h1 className="sr-only">Sessions</h1>
        <Empty title="No sessions yet">
          <p>
            A session is a conversation with one agent. Every run starts one, and you can continue
            it here or in a terminal:
          </p>
          <p className="mt-2">
            <CommandLine>mandate chat</CommandLine>
          </p>
        </Empty>
      </>
    );
  }
  return (
    <div className="flex min-h-0 flex-1">
      <h1 className="sr-only">Sessions</h1>
      <div
        className={`flex min-h-0 w-full shrink-0 flex-col border-line sm:w-72 sm:border-r ${chosen === "" ? "" : "max-sm:hidden"}`}
      >
        <div className="shrink-0 border-b border-line px-4 py-1.5">
          <input
            type="search"
            aria-label="Filter sessions"
            placeholder="Filter"
            className="h-7 w-full rounded-md border border-line bg-panel px-2 max-sm:h-9"
            value={search}
            onChange={({ target }) => setSearch(target.value)}
          />
        </div>
        <nav aria-label="Sessions" className="min-h-0 flex-1 overflow-auto">
          {rows.map((row) => (
            <SessionLink
              key={row.id}
              row={row}
              state={shownSession(row.status, asking.has(row.runId))}
              isChosen={row === rows[index]}
            />
          ))}
          {value?.hasMore && (
            <Button className="m-3" onClick={() => setPages(pages + 1)}>
              Show older ones
            </Button>
          )}
        </nav>
      </div>
      <div
        className={`flex min-h-0 min-w-0 flex-1 flex-col ${chosen === "" ? "max-sm:hidden" : ""}`}
      >
        {chosen === "" ? (
          rows[0] && <SessionView key={rows[0].id} sessionId={rows[0].id} />
        ) : (
          <SessionView key={chosen} sessionId={chosen} />
        )}
      </div>
    </div>
  );
}

interface SessionLinkProps {
  readonly row: SessionRow;
  readonly state: ShownState;
  readonly isChosen: boolean;
}

function SessionLink({ row, state, isChosen }: SessionLinkProps) {
  return (
    <Link
      to={`/sessions?session=${row.id}`}
      aria-current={isChosen ? "true" : undefined}
      className="row flex min-w-0 flex-col border-b border-line px-4 py-2 hover:bg-hover aria-[current]:bg-chosen"
    >
      <span className="flex min-w-0 items-center gap-2">
        <span className="flex shrink-0">
          <StateBadge state={state} isShort />
        </span>
        <span className="truncate font-medium">
          <Text>{row.title}</Text>
        </span>
      </span>
      {row.lastMessage !== row.title && (
        <span className="truncate pl-6 text-xs text-soft">
          <Text isMarkdown>{row.lastMessage}</Text>
        </span>
      )}
      <span className="truncate pl-6 text-xs text-soft">
        <Text most={64}>{shownName(row)}</Text>
      </span>
      <span className="flex gap-2 pl-6 text-xs text-soft">
        <Money dollars={row.cost} estimated={row.estimated} />
        <span className="shrink-0">
          <Tokens tokens={row.tokens} estimated={row.estimated} /> tokens
        </span>
        <span className="ml-auto shrink-0">
          <Time at={row.updatedAt} />
        </span>
      </span>
    </Link>
  );
}

async function loadSessions(
  pages: number,
  signal: AbortSignal,
): Promise<{ readonly rows: readonly SessionRow[]; readonly hasMore: boolean }> {
  const rows: SessionRow[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < pages; page += 1) {
    const { items, nextCursor } = await client.listSessions({ limit: perPage, cursor }, { signal });
    rows.push(...items);
    if (nextCursor === null) return { rows, hasMore: false };
    cursor = nextCursor;
  }
  return { rows, hasMore: true };
}
