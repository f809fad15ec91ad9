import type { StoredEvent } from "../../../../src/events/event.ts";
import { callSubject } from "../../../../src/sessions/describe-call.ts";
import { harmlessLine, harmlessText } from "../../../../src/sessions/harmless-text.ts";
import { Duration } from "../../components/amounts.tsx";
import { StateBadge } from "../../components/state-badge.tsx";
import { Text } from "../../components/text.tsx";
import { useLiveText } from "../../data/live-text.ts";
import { Link } from "../../router/link.tsx";
import { toolCallsOf } from "../delegation/calls/tool-calls-of.ts";
import { describeActivity, stateOfRow } from "./describe-activity.ts";
import type { RunView } from "./replay/use-replay.ts";
import { type TreeRow, treeRows } from "./run-tree-rows.ts";
import type { AgentName, Workflows } from "./workflow/use-workflows.ts";

interface WorkingNowProps extends Pick<Workflows, "nameOf"> {
  readonly feed: RunView;
}

const mostShown = 6;
const nothingFolded: ReadonlySet<string> = new Set();

/** What the agents of an open run do at this moment: the current call, or the text as it is written. */
export function WorkingNow({ feed, nameOf }: WorkingNowProps) {
  // An agent that waits for sub-agents, a person or a slot does nothing itself.
  const working = treeRows(feed, nothingFolded).filter((row) =>
    ["running", "merging"].includes(stateOfRow(row, false)),
  );
  if (working.length === 0) {
    return (
      <p className="px-4 py-3 text-soft">
        No agent works at this moment. The tree shows what each of them waits for.
      </p>
    );
  }
  return (
    <section aria-label="Working now" className="border-b border-line px-4 py-3">
      <h2 className="mb-2 text-xs font-semibold text-soft">Working now ({working.length})</h2>
      <ul className="flex flex-col gap-3">
        {working.slice(0, mostShown).map((row) => (
          <li key={row.delegation.id}>
            <AgentNow
              row={row}
              turn={lastTurnOf(row.delegation.id, feed.events)}
              {...nameOf(row.delegation.id)}
            />
          </li>
        ))}
      </ul>
      {working.length > mostShown && (
        <p className="mt-2 text-soft">and {working.length - mostShown} more, in the tree</p>
      )}
    </section>
  );
}

interface AgentNowProps extends AgentName {
  readonly row: TreeRow;
  /** The latest answer of the model, and what happened since. */
  readonly turn: readonly StoredEvent[];
}

function AgentNow({ about, name, row, turn }: AgentNowProps) {
  const { delegation } = row;
  const live = useLiveText(delegation.id);
  const [answer] = turn;
  const said = answer?.type === "agent.model_turn" ? (answer.payload.text ?? "") : "";
  const text = live === "" ? said : live;
  const call = toolCallsOf(turn).findLast(({ outcome }) => outcome === "running");
  const since = delegation.status === "running" ? delegation.lastEventAt : delegation.createdAt;
  const activity = live === "" ? describeActivity(row, false) : "Writes";
  return (
    <>
      <p className="flex min-w-0 items-baseline gap-2">
        <Link
          to={`/delegations/${delegation.id}`}
          className="max-w-1/2 shrink-0 truncate font-medium text-accent hover:underline"
        >
          <Text most={60}>{name}</Text>
        </Link>
        <Text className="min-w-0 truncate text-soft">{about}</Text>
      </p>
      <p className="flex min-w-0 items-baseline gap-2">
        <span className="max-w-1/2 shrink-0">
          <StateBadge state={stateOfRow(row, false)} word={harmlessLine(activity, 80)} />
        </span>
        <Text className="min-w-0 truncate font-mono text-xs text-soft">
          {callSubject(call?.input)}
        </Text>
        <span className="ml-auto shrink-0 text-xs text-soft">
          <Duration from={since} to={null} />
        </span>
      </p>
      {text !== "" && (
        // The end of the text is in sight, whatever its length.
        <div
          className={`mt-1 flex max-h-36 flex-col-reverse overflow-hidden border-l-2 pl-2 text-xs wrap-anywhere whitespace-pre-wrap ${live === "" ? "border-line text-soft" : "border-busy"}`}
        >
          <bdi>{harmlessText(endOf(text))}</bdi>
        </div>
      )}
    </>
  );
}

const mostCharacters = 1200;

function endOf(text: string): string {
  return text.trim().slice(-mostCharacters).toWellFormed();
}

function lastTurnOf(id: string, events: readonly StoredEvent[]): readonly StoredEvent[] {
  const turn: StoredEvent[] = [];
  for (let index = events.length - 1; index >= 0; index -= 1) {
    const event = events[index];
    if (event?.sub_agent_id !== id) continue;
    turn.push(event);
    if (event.type === "agent.model_turn" || event.type === "agent.subagent_created") break;
  }
  return turn.reverse();
}
