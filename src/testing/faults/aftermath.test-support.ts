/** For tests: what is true after a fault, in four parts: state, log, what callers see, what remains. */
import { globSync } from "node:fs";
import type { StoredEvent } from "../../events/event.ts";
import type { DelegationResult } from "../../ports/delegator.ts";
import type { Store } from "../../ports/store.ts";
import { lookAtWorld } from "../../workspaces/check-world.ts";

/** What lies and runs beside a database. */
export interface Left {
  readonly artifacts: number;
  readonly copies: number;
  readonly strays: number;
  readonly merges: number;
  readonly locks: number;
  readonly processes: number;
}

export const nothing: Left = {
  artifacts: 0,
  copies: 0,
  strays: 0,
  merges: 0,
  locks: 0,
  processes: 0,
};

export function lookAround(home: string): Left {
  const world = lookAtWorld({ home, database: `${home}/mandate.db` });
  return {
    artifacts: globSync("artifacts/**/*", { cwd: home, withFileTypes: true }).filter((entry) =>
      entry.isFile(),
    ).length,
    copies: world.copies.length,
    strays: world.strays.length,
    merges: world.merges.length,
    locks: world.tickets.length,
    processes: [...world.processes.values()].flat().length,
  };
}

/** The names of one delegation's events in the order of the log, or of the run's own. */
export function namesOf(events: readonly StoredEvent[], id?: string): readonly string[] {
  return events
    .filter(({ sub_agent_id: of, type }) => of === id && (id !== undefined || isOfRun(type)))
    .map(({ type }) => type.replace(/^agent\.(?:subagent_)?/, ""));
}

function isOfRun(type: string): boolean {
  return type.startsWith("run.");
}

/** A delegation as the store has it: `closed failed timeout`. */
export async function stateOf(store: Store, runId: string, id: string): Promise<string> {
  const delegation = (await store.readRun(runId))?.delegations.get(id);
  if (delegation === undefined) return "unknown";
  if (delegation.status !== "closed") return delegation.status;
  return `closed ${delegation.finalStatus} ${delegation.closeReason}`;
}

export interface Told extends Partial<DelegationResult> {}

/** What the tool of a parent's model handed it last. */
export function toldTo(messages: readonly { readonly text: string }[] | undefined): Told {
  return JSON.parse(messages?.at(-1)?.text ?? "{}") as Told;
}

export async function eventsOf(store: Store, runId: string): Promise<readonly StoredEvent[]> {
  const events: StoredEvent[] = [];
  for await (const event of store.readEvents({ runId })) events.push(event);
  return events;
}
