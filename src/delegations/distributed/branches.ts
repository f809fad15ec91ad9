import { openAskOf } from "../../events/delegation.ts";
import type { StoredEvent } from "../../events/event.ts";
import { resultOf } from "../../sessions/delegation-result.ts";
import { retireCopy } from "../changes/take-over.ts";
import { closeWith } from "../ends/close.ts";
import { failure } from "../ends/ending.ts";
import { type LiveDelegation, outputOf } from "../live-delegation.ts";
import { loseRun, settleAsk } from "../live-run.ts";
import { reload } from "../recovery/hydrate.ts";
import { finish } from "../work.ts";
import type { DistributedExecution } from "./distributed-execution.ts";

/**
 * What this process works on of runs that are spread, one delegation each. What other workers do
 * for the same runs reaches it by the log, and by nothing else.
 */
export class Branches {
  readonly #ofRun = new Map<string, Set<DistributedExecution>>();
  /** Those who worked here in a copy of another machine's folder, until they have ended. */
  readonly #guests = new Map<string, LiveDelegation>();

  get all(): readonly DistributedExecution[] {
    return [...this.#ofRun.values()].flatMap((branches) => [...branches]);
  }

  add(branch: DistributedExecution): void {
    const { here, run } = branch;
    const others = this.#ofRun.get(run.id);
    if (others) others.add(branch);
    else this.#ofRun.set(run.id, new Set([branch]));
    if (here?.copy?.source.kind === "elsewhere") this.#guests.set(here.id, here);
  }

  remove(branch: DistributedExecution): void {
    const { id } = branch.run;
    const branches = this.#ofRun.get(id);
    branches?.delete(branch);
    if (branches?.size === 0) this.#ofRun.delete(id);
  }

  /** What was committed together. */
  hear(events: readonly StoredEvent[]): void {
    const settled = new Set<string>();
    for (const event of events) {
      if (event.type === "agent.subagent_closed") this.#seeOff(event.payload.sub_agent_id);
      const branches = followed.has(event.type) ? this.#ofRun.get(event.run_id) : undefined;
      if (branches === undefined) continue;
      // All of them count already: whoever waits for one looks at what is left by all.
      if (releases.has(event.type) && settled.has(event.run_id)) continue;
      if (releases.has(event.type)) settled.add(event.run_id);
      for (const branch of branches) follow(branch, event);
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

function follow(branch: DistributedExecution, event: StoredEvent): void {
  const { here, run } = branch;
  switch (event.type) {
    case "agent.budget_settled":
    case "agent.budget_corrected":
      run.funds.notify();
      break;
    case "agent.answered":
      settleAsk(run, event);
      break;
    case "agent.claimed": {
      const isHere = event.sub_agent_id === here?.id;
      if (isHere && event.payload.fence > run.settings.ownership.fence) loseBranch(branch);
      break;
    }
    case "agent.subagent_waiting_for_merge": {
      const child = run.delegations.byId.get(event.sub_agent_id ?? "");
      if (child && child.parent === here && child.contract.workspace.copy !== undefined)
        void takeOver(branch, child).catch(leaveToNext);
      break;
    }
    case "agent.subagent_closed": {
      const agent = run.delegations.byId.get(event.payload.sub_agent_id);
      if (agent) void ended(branch, agent).catch(leaveToNext);
      break;
    }
    default:
  }
}

/** Holds what is in memory against the log: ends, and answers, that came while nobody listened. */
export async function catchUp(branch: DistributedExecution): Promise<void> {
  const { here, log: state, run } = branch;
  if (state === null) return;
  for (const agent of [...run.delegations.byId.values()]) {
    if (state.delegations.get(agent.id)?.status === "closed" && agent.process.end.result === null) {
      await ended(branch, agent);
    }
  }
  const delegation = here === null ? undefined : state.delegations.get(here.id);
  const wasAnswered =
    here && openAskOf(here.state) !== null && delegation && openAskOf(delegation) === null;
  if (here && delegation && wasAnswered && !here.process.end.isEnding)
    await reload(here, delegation);
}

/** A child's work was handed in: it is for this process to decide what becomes of it. */
async function takeOver(branch: DistributedExecution, child: LiveDelegation): Promise<void> {
  const { run } = child;
  const delegation = branch.log?.delegations.get(child.id);
  // Where it was refused at once, its end came with it.
  if (
    delegation?.status !== "waiting_for_merge" ||
    child.process.end.isEnding ||
    outputOf(child) !== null
  )
    return;
  child.adopt(delegation);
  await reload(child, delegation);
  run.changed.notify();
  const output = outputOf(child);
  if (child.copy !== null && output !== null) return finish(child, output);
  await closeWith(child, failure({ code: "working_copy_gone" }));
}

/** Somebody closed it: its own worker, or a person who wanted it ended. */
async function ended(branch: DistributedExecution, agent: LiveDelegation): Promise<void> {
  const { here, log, run } = branch;
  const wasOurs = !agent.process.end.isEnding;
  agent.process.end.isEnding = true;
  if (wasOurs && agent === here) agent.work.stop({ code: "ended_outside" });
  const known = log && resultOf(log, agent.id);
  const stored = known ? undefined : await run.parts.store.readRun(run.id);
  const result = known || (stored && resultOf(stored, agent.id));
  if (!result) return;
  const state = (known ? log : stored)?.delegations.get(agent.id);
  if (state?.status === "closed") agent.adopt(state);
  agent.process.end.closed(result);
  if (wasOurs && !run.lost && agent !== here) retireCopy(agent);
}

/** The store is gone or closed: whoever takes the run up finds in the log what is to be done. */
function leaveToNext(): void {}

/** Another worker has it now, and this one has nothing more to do for it. */
export function loseBranch(branch: DistributedExecution): void {
  loseRun(branch.run);
  branch.leave();
}
