import type { StoredEvent } from "../events/event.ts";
import type { Store } from "../ports/store.ts";
import {
  type AgentSessionContext,
  breadcrumbOf,
  type SessionBreadcrumb,
  sessionContext,
  triggerOf,
} from "./session.ts";
import { readChain, requireHead } from "./session-chain.ts";
import type { SessionEntry } from "./session-entry.ts";
import { entriesOf, readLink, type SessionLink } from "./session-link.ts";
import { readTitles, titleOf } from "./session-records.ts";

/** A whole session. Whatever cannot be read is missing, and named in `problems`. */
export interface AgentSession {
  readonly sessionId: string;
  readonly title: string;
  /** Null where its contract, or an event of its latest run, cannot be read. */
  readonly context: AgentSessionContext | null;
  /** The children and watchers of its latest run, in the order of their creation. */
  readonly breadcrumbs: readonly SessionBreadcrumb[];
  /** The entries of all its runs, oldest first. */
  readonly entries: readonly SessionEntry[];
  readonly problems: readonly string[];
}

/**
 * Reads a session by the id of a delegation, or of a run for its root. Throws "unknown-delegation".
 * @example const { entries } = await readSession(store, "a1b2c3");
 */
export async function readSession(store: Store, id: string): Promise<AgentSession> {
  const last = await requireHead(store, id);
  const { links, problem } = await readChain(store, last);
  const title = titleOf(links, await readTitles(store));
  const entries: SessionEntry[] = problem === null ? [] : [{ kind: "lost", text: problem }];
  const problems: string[] = problem === null ? [] : [problem];
  let latest: SessionLink | undefined;
  for (const [index, head] of links.entries()) {
    const link = await readLink(store, head, links[index + 1]);
    problems.push(...link.problems);
    entries.push(...entriesOf(link, latest));
    latest = link;
  }
  return {
    sessionId: last.id,
    title,
    context: latest
      ? contextOf(
          latest,
          title,
          links.map(({ runId }) => runId),
        )
      : null,
    breadcrumbs: latest ? breadcrumbsOf(latest) : [],
    entries,
    problems,
  };
}

function contextOf(
  { contract, events, head, run }: SessionLink,
  title: string,
  runIds: readonly string[],
): AgentSessionContext | null {
  const delegation = run?.delegations.get(head.id);
  if (contract === null || run === null || delegation === undefined) return null;
  const legible = events.filter((event): event is StoredEvent => event.type !== "lost");
  const trigger = triggerOf(delegation, contract, legible);
  return sessionContext({ run, delegation, contract, trigger, title, runIds });
}

function breadcrumbsOf({ children, run }: SessionLink): readonly SessionBreadcrumb[] {
  return [...children].flatMap(([id, capability]) => {
    const child = run?.delegations.get(id);
    return child === undefined ? [] : [breadcrumbOf(child, capability)];
  });
}
