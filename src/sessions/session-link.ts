import type { Contract } from "../contracts/contract.ts";
import type { StoredEvent } from "../events/event.ts";
import { foldRun, type RunState } from "../events/run-state.ts";
import { messageOf } from "../ports/message-of.ts";
import type { Store } from "../ports/store.ts";
import { isFurtherMessage } from "./is-further-message.ts";
import { capabilityOf, type SessionCapability } from "./session.ts";
import { openingEntries, SessionEntries } from "./session-entries.ts";
import type { SessionEntry } from "./session-entry.ts";
import type { SessionHead } from "./session-head.ts";
import { type LostEvents, readSurvivingEvents } from "./surviving-events.ts";

/** One delegation of a session's chain, with all that is left of its run. */
export interface SessionLink {
  readonly head: SessionHead;
  /** Null where it cannot be read, or is not the one that was agreed. */
  readonly contract: Contract | null;
  readonly events: readonly (StoredEvent | LostEvents)[];
  /** Null where events are missing. */
  readonly run: RunState | null;
  /** Who left a breadcrumb in it: its children and its watchers; null: the role is unknown. */
  readonly children: ReadonlyMap<string, SessionCapability | null>;
  readonly problems: readonly string[];
}

/** `next`: the one that went on from it, perhaps from the middle. */
export async function readLink(
  store: Store,
  head: SessionHead,
  next?: SessionHead,
): Promise<SessionLink> {
  const problems: string[] = [];
  const events: (StoredEvent | LostEvents)[] = [];
  const legible: StoredEvent[] = [];
  for await (const event of readSurvivingEvents(store, head.runId)) {
    if (next !== undefined && next.resumedAt !== null && event.seq > next.resumedAt) break;
    events.push(event);
    if (event.type === "lost") problems.push(`In ${head.runId}, ${event.problem}.`);
    else legible.push(event);
  }
  let contract: Contract | null = null;
  try {
    contract = await store.readContract(head.id);
  } catch (error) {
    problems.push(messageOf(error));
  }
  let run: RunState | null = null;
  try {
    if (legible.length === events.length) run = foldRun(head.runId, legible);
  } catch (error) {
    problems.push(`The state of ${head.runId} cannot be worked out: ${messageOf(error)}`);
  }
  return {
    head,
    contract,
    events,
    run,
    children: await childrenIn(store, legible, head.id),
    problems,
  };
}

/** What was said in it. It began with what a person said, or because one before it had to go on. */
export function entriesOf(
  link: SessionLink,
  before: SessionLink | undefined,
): readonly SessionEntry[] {
  const { children, contract, events, head } = link;
  const session = new SessionEntries(head.id, children);
  for (const event of events) {
    const isOwn = event.type === "agent.subagent_created" && event.sub_agent_id === head.id;
    session.see(event, isOwn ? opening(event.at) : []);
  }
  return session.entries;

  function opening(at: number): readonly SessionEntry[] {
    if (contract === null) return [{ kind: "person", at, text: taskIn(events) }];
    if (before === undefined || before.contract === null) return openingEntries(contract, at);
    const { description } = contract.step;
    const ended = before.run?.delegations.get(before.head.id);
    return isFurtherMessage(before.contract, ended, description)
      ? [{ kind: "person", at, text: description }]
      : [{ kind: "note", at, text: "It was told to go on from where it was." }];
  }
}

/** What the log has of the task when the contract is gone: that of the run. */
function taskIn(events: SessionLink["events"]): string {
  for (const event of events) if (event.type === "run.started") return String(event.payload.task);
  return "";
}

async function childrenIn(
  store: Store,
  events: readonly StoredEvent[],
  id: string,
): Promise<SessionLink["children"]> {
  const children = new Map<string, SessionCapability | null>();
  for (const event of events) {
    if (event.type !== "agent.subagent_created" || event.sub_agent_id === undefined) continue;
    const isChild = event.payload.parent_id === id;
    // A watcher has no caller: its contract says which delegation it watches.
    const mayWatch = event.payload.parent_id === null && event.payload.depth > 0;
    if (!isChild && !mayWatch) continue;
    const contract = await store.readContract(event.sub_agent_id).catch(() => null);
    if (isChild || contract?.parent.watches === id) {
      children.set(event.sub_agent_id, contract && capabilityOf(contract));
    }
  }
  return children;
}
