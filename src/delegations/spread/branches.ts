import { openAskOf } from "../../events/delegation.ts";
import type { StoredEvent } from "../../events/event.ts";
import { resultOf } from "../../sessions/delegation-result.ts";
import type { Agent } from "../agent.ts";
import { retireCopy } from "../changes/take-over.ts";
import { closeWith } from "../ends/close.ts";
import { failure } from "../ends/ending.ts";
import type { LiveRun } from "../live-run.ts";
import { reload } from "../recovery/hydrate.ts";
import { finish } from "../work.ts";

/**
 * What this process works on of runs that are spread, one delegation each. What other workers do
 * for the same runs reaches it by the log, and by nothing else.
 */
export class Branches {
  readonly #ofRun = new Map<string, Set<LiveRun>>();
  /** Those who worked here in a copy of another machine's folder, until they have ended. */
  readonly #guests = new Map<string, Agent>();

  get all(): readonly LiveRun[] {
    return [...this.#ofRun.values()].flatMap((runs) => [...runs]);
  }

  add(run: LiveRun): void {
    const others = this.#ofRun.get(run.id);
    if (others) others.add(run);
    else this.#ofRun.set(run.id, new Set([run]));
    const { here } = run;
    if (here?.copy?.source.kind === "elsewhere") this.#guests.set(here.id, here);
  }

  remove(run: LiveRun): void {
    const runs = this.#ofRun.get(run.id);
    runs?.delete(run);
    if (runs?.size === 0) this.#ofRun.delete(run.id);
  }

  /** What was committed together. */
  hear(events: readonly StoredEvent[]): void {
    const settled = new Set<string>();
    for (const event of events) {
      if (event.type === "agent.subagent_closed") this.#seeOff(event.payload.sub_agent_id);
      const runs = followed.has(event.type) ? this.#ofRun.get(event.run_id) : undefined;
      if (runs === undefined) continue;
      // All of them count already: whoever waits for one looks at what is left by all.
      if (releases.has(event.type) && settled.has(event.run_id)) continue;
      if (releases.has(event.type)) settled.add(event.run_id);
      for (const run of runs) follow(run, event);
    }
  }

  /** What it made is in the store, or stays: then its copy here is the only place that has it. */
  #seeOff(id: string): void {
    const guest = this.#guests.get(id);
    const { copy } = guest ?? {};
    this.#guests.delete(id);
    if (guest === undefined || !copy) return;
    void guest.run.parts.copies().then((copies) => copies.retire(copy));
  }
}

const releases: ReadonlySet<string> = new Set(["agent.budget_settled", "agent.budget_corrected"]);

/** What `follow` looks at. An event is told to every branch of its run, and most are nothing to any. */
const followed: ReadonlySet<string> = new Set([
  ...releases,
  ...["agent.answered", "agent.claimed"],
  ...["agent.subagent_waiting_for_merge", "agent.subagent_closed"],
]);

function follow(run: LiveRun, event: StoredEvent): void {
  switch (event.type) {
    case "agent.budget_settled":
    case "agent.budget_corrected":
      run.release();
      break;
    case "agent.answered":
      run.answered(event.payload);
      break;
    case "agent.claimed": {
      const isHere = event.sub_agent_id === run.here?.id;
      if (isHere && event.payload.fence > run.ownership.fence) loseBranch(run);
      break;
    }
    case "agent.subagent_waiting_for_merge": {
      const child = run.agents.get(event.sub_agent_id ?? "");
      if (child && child.parent === run.here && child.contract.workspace.copy !== undefined)
        void takeOver(child).catch(leaveToNext);
      break;
    }
    case "agent.subagent_closed": {
      const agent = run.agents.get(event.payload.sub_agent_id);
      if (agent) void ended(agent).catch(leaveToNext);
      break;
    }
    default:
  }
}

/** Holds what is in memory against the log: ends, and answers, that came while nobody listened. */
export async function catchUp(run: LiveRun): Promise<void> {
  const { here, state } = run;
  if (state === null) return;
  for (const agent of [...run.agents.values()]) {
    if (state.delegations.get(agent.id)?.status === "closed" && agent.result === null) {
      await ended(agent);
    }
  }
  const delegation = here === null ? undefined : state.delegations.get(here.id);
  const wasAnswered = here?.openAsk != null && delegation && openAskOf(delegation) === null;
  if (here && delegation && wasAnswered && !here.isEnding) await reload(here, delegation);
}

/** A child's work was handed in: it is for this process to decide what becomes of it. */
async function takeOver(child: Agent): Promise<void> {
  const { run } = child;
  const delegation = run.state?.delegations.get(child.id);
  // Where it was refused at once, its end came with it.
  if (delegation?.status !== "waiting_for_merge" || child.isEnding || child.output !== null) return;
  const { reason, text, truncated } = delegation.output;
  child.output = { kind: "output", text, truncated, reason };
  await reload(child, delegation);
  run.stir();
  if (child.copy !== null) return finish(child, child.output);
  await closeWith(child, failure("worker_lost", "Its working copy is gone."));
}

/** Somebody closed it: its own worker, or a person who wanted it ended. */
async function ended(agent: Agent): Promise<void> {
  const { run } = agent;
  const wasOurs = !agent.isEnding;
  agent.isEnding = true;
  if (wasOurs && agent === run.here) agent.stop("cancelled", "It was ended from outside.");
  const known = run.state && resultOf(run.state, agent.id);
  const stored = known ? undefined : await run.parts.store.readRun(run.id);
  const result = known || (stored && resultOf(stored, agent.id));
  if (!result) return;
  agent.closed(result);
  if (wasOurs && !run.lost && agent !== run.here) retireCopy(agent);
}

/** The store is gone or closed: whoever takes the run up finds in the log what is to be done. */
function leaveToNext(): void {}

/** Another worker has it now, and this one has nothing more to do for it. */
export function loseBranch(run: LiveRun): void {
  run.giveUp();
  run.left.resolve();
}
