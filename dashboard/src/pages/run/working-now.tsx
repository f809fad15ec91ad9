import type { Delegation } from "../../../../src/events/delegation.ts";
import type { StoredEvent } from "../../../../src/events/event.ts";
import { callSubject } from "../../../../src/sessions/describe-call.ts";
import { harmlessLine, harmlessText } from "../../../../src/sessions/harmless-text.ts";
import { Duration } from "../../components/amounts.tsx";
import { StateBadge, shownState } from "../../components/state-badge.tsx";
import { Text } from "../../components/text.tsx";
import { useLiveText } from "../../data/live-text.ts";
import { Link } from "../../router/link.tsx";
import { toolCallsOf } from "../delegation/calls/tool-calls-of.ts";
import { describeState } from "../delegation/describe-state.ts";
import type { RunView } from "./replay/use-replay.ts";
import type { Workflows } from "./workflow/use-workflows.ts";

interface WorkingNowProps extends Pick<Workflows, "nameOf"> {
  readonly feed: RunView;
}

const mostShown = 6;

/** What the agents of an open run do at this moment: the current call, or the text as it is written. */
export function WorkingNow({ feed, nameOf }: WorkingNowProps) {
  const working = [...feed.state.delegations.values()].filter(isAtWork);
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
        {working.slice(0, mostShown).map((delegation) => (
          <li key={delegation.id}>
            <AgentNow
              delegation={delegation}
              name={nameOf(delegation.id).name}
              turn={lastTurnOf(delegation.id, feed.events)}
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

/** An agent that waits for sub-agents, a person or a slot does nothing itself. */
function isAtWork(delegation: Delegation): boolean {
  if (delegation.status === "closed" || delegation.status === "created") return false;
  if (delegation.status !== "running") return true;
  return !["child", "answer", "approval", "slot", "paused"].includes(delegation.waitingOn.on);
}

interface AgentNowProps {
  readonly delegation: Delegation;
  readonly name: string;
  readonly turn: readonly StoredEvent[];
}

function AgentNow({ delegation, name, turn }: AgentNowProps) {
  const { id } = delegation;
  const live = useLiveText(id);
  const call = toolCallsOf(turn).findLast(({ outcome }) => outcome === "running");
  const subject = callSubject(call?.input);
  const [answer] = turn;
  const said = answer?.type === "agent.model_turn" ? (answer.payload.text ?? "") : "";
  const text = live === "" ? said : live;
  const since = delegation.status === "running" ? delegation.lastEventAt : delegation.createdAt;
  return (
    <>
      <p className="flex min-w-0 items-baseline gap-2">
        <Link
          to={`/delegations/${id}`}
          className="max-w-1/2 shrink-0 truncate font-medium text-accent hover:underline"
        >
          <Text most={60}>{name}</Text>
        </Link>
        <span className="min-w-0">
          <StateBadge
            state={shownState(delegation, false)}
            word={live === "" ? harmlessLine(describeState(delegation, false), 100) : "Writes"}
          />
        </span>
        <span className="ml-auto shrink-0 text-xs text-soft">
          <Duration from={since} to={null} />
        </span>
      </p>
      {subject !== "" && (
        <Text className="block truncate font-mono text-xs text-soft" most={200}>
          {subject}
        </Text>
      )}
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

/** The latest answer of the model, and what happened since. */
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
