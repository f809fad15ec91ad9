import { clientOf } from "../contracts/contract.ts";
import type { StoredEvent } from "../events/event.ts";
import { tellPruned } from "../events/pruned-runs.ts";
import { MandateError } from "../ports/mandate-error.ts";
import { messageOf } from "../ports/message-of.ts";
import type { Store } from "../ports/store.ts";
import { StoreMemory } from "./read-run.ts";
import { readSurvivingEvents } from "./surviving-events.ts";

/**
 * The delegations of a session, oldest first: each continues the conversation of the one before it. When
 * one cannot be read, the earlier ones are missing and `problem` says why. A session that was continued
 * twice from one point is two chains with the same beginning.
 */
export interface SessionChain {
  readonly links: readonly SessionHead[];
  readonly problem: string | null;
}

export async function readChain(store: Store, last: SessionHead): Promise<SessionChain> {
  const links = [last];
  const seen = new Set([last.id]);
  for (let next = last.resumedFrom; next !== null; ) {
    let head: SessionHead | undefined;
    let problem: string | undefined;
    try {
      head = seen.has(next) ? undefined : await readHead(store, next);
      if (seen.has(next)) problem = "the log has a cycle";
    } catch (error) {
      problem = messageOf(error);
    }
    if (head === undefined) {
      problem ??= (await tellPruned(store, next)) ?? "it is not in the log";
      return {
        links: links.reverse(),
        problem: `Earlier messages are missing: ${next} cannot be read (${problem}).`,
      };
    }
    seen.add(head.id);
    links.push(head);
    next = head.resumedFrom;
  }
  return { links: links.reverse(), problem: null };
}

/** The head of a delegation's session, or of the root of a run. Throws "unknown-delegation". */
export async function requireHead(store: Store, id: string): Promise<SessionHead> {
  let head: SessionHead | undefined;
  try {
    head = await readHead(store, id);
  } catch (error) {
    if (error instanceof MandateError) throw error;
    throw new MandateError(
      "unknown-delegation",
      `The beginning of session ${id} cannot be read: ${messageOf(error)}. Run: mandate verify`,
      { cause: error },
    );
  }
  if (head !== undefined) return head;
  const shown = JSON.stringify(id.slice(0, 40));
  throw new MandateError(
    "unknown-delegation",
    (await tellPruned(store, id)) ??
      `There is no session ${shown}. A session has the id of its delegation, or of its run.`,
  );
}

/** The first event of a session. It never changes. */
export interface SessionHead {
  readonly id: string;
  readonly runId: string;
  readonly isRoot: boolean;
  readonly profile: string;
  /** The name of the program that runs this agent; absent: the agent is ours. */
  readonly client?: string;
  readonly title: string;
  /** The delegation whose conversation it continues. */
  readonly resumedFrom: string | null;
  /** The last shared event of that conversation; null: all of it. */
  readonly resumedAt: number | null;
}

const heads = new StoreMemory<SessionHead>(20_000);

/** `id` of a delegation, or of a run for its root. Undefined: there is no such id. */
export async function readHead(store: Store, id: string): Promise<SessionHead | undefined> {
  const known = heads.get(store, id);
  if (known !== undefined) return known;
  const runId = await store.findRun(id);
  if (runId === undefined) return undefined;
  try {
    for await (const event of store.readEvents({ runId })) {
      if (event.type !== "agent.subagent_created") continue;
      const head = headOf(event);
      if (id === runId ? !head.isRoot : head.id !== id) continue;
      heads.keep(store, id, head);
      return head;
    }
    return undefined;
  } catch (error) {
    if (error instanceof MandateError && error.code === "closed") throw error;
    const left = await salvageHead(store, id, runId);
    if (left === undefined) throw error;
    return left;
  }
}

function headOf(event: StoredEvent<"agent.subagent_created">): SessionHead {
  const { client, depth, parent_id: parentId, profile, title } = event.payload;
  return {
    id: event.sub_agent_id ?? "",
    runId: event.run_id,
    isRoot: parentId === null && depth === 0,
    profile,
    ...(client !== undefined && { client }),
    title,
    resumedFrom: event.payload.resumed_from ?? null,
    resumedAt: event.payload.resumed_at ?? null,
  };
}

/** When the first event cannot be read: the same from the contract, except `resumedFrom`. */
async function salvageHead(
  store: Store,
  id: string,
  runId: string,
): Promise<SessionHead | undefined> {
  const candidates = new Set(id === runId ? [] : [id]);
  if (id === runId) {
    for await (const event of readSurvivingEvents(store, runId)) {
      if (event.type !== "lost" && event.sub_agent_id) candidates.add(event.sub_agent_id);
    }
  }
  for (const candidate of candidates) {
    const contract = await store.readContract(candidate).catch(() => null);
    if (contract === null) continue;
    const { parent, profile, step } = contract;
    const isRoot = parent.sub_agent_id === null && parent.depth === 0;
    if (id === runId && !isRoot) continue;
    const about = { id: candidate, runId, isRoot, profile: profile.id, title: step.title };
    const client = clientOf(contract);
    const named = client === undefined ? about : { ...about, client };
    return { ...named, resumedFrom: null, resumedAt: null };
  }
  return undefined;
}
