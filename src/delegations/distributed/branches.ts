import { openAskOf } from "../../events/delegation.ts";
import type { StoredEvent } from "../../events/event.ts";
import { resultOf } from "../../sessions/delegation-result.ts";
import { retireCopy } from "../changes/take-over.ts";
import { closeWith } from "../ends/close.ts";
import { failure } from "../ends/ending.ts";
import { type LiveDelegation, outputOf } from "../live-delegation.ts";
import { type LiveRun, loseRun, settleAsk } from "../live-run.ts";
import { reload } from "../recovery/hydrate.ts";
import { finish } from "../work.ts";
import { type Branch, isBranch } from "./distributed-execution.ts";

/**
 * The branches of distributed runs that this process has, one delegation each. What other workers
 * write about the same runs reaches them by the log alone.
 */
export class Branches {
  readonly #ofRun = new Map<string, Set<Branch>>();
  /** Delegations that worked here in a copy of another machine's folder, until they have closed. */
  readonly #guests = new Map<string, LiveDelegation>();

  get all(): readonly Branch[] {
    return [...this.#ofRun.values()].flatMap((branches) => [...branches]);
  }

  add(branch: Branch): void {
    const others = this.#ofRun.get(branch.id);
    if (others) others.add(branch);
    else this.#ofRun.set(branch.id, new Set([branch]));
  }

  addGuest(live: LiveDelegation): void {
    if (live.copy?.source.kind === "elsewhere") this.#guests.set(live.id, live);
  }

  /** The agent of another program stays in this process; its children may be on other machines. */
  async hold(run: LiveRun, root: LiveDelegation): Promise<void> {
    if (!isBranch(run)) return;
    run.execution.here = root;
    run.execution.log = (await run.parts.store.readRun(run.id)) ?? null;
    this.add(run);
    void root.process.end.whenClosed().then(() => this.remove(run));
  }

  remove(branch: Branch): void {
    const branches = this.#ofRun.get(branch.id);
    branches?.delete(branch);
    if (branches?.size === 0) this.#ofRun.delete(branch.id);
  }

  /** Events that were committed together. */
  hear(events: readonly StoredEvent[]): void {
    const released = new Set<string>();
    for (const event of events) {
      if (event.type === "agent.subagent_closed") this.#retireGuest(event.payload.sub_agent_id);
      const branches = followed.has(event.type) ? this.#ofRun.get(event.run_id) : undefined;
      if (branches === undefined) continue;
      // All of the events count already: waiters look at the budget once.
      const isRelease = releases.has(event.type);
      if (isRelease && released.has(event.run_id)) continue;
      if (isRelease) released.add(event.run_id);
      for (const branch of branches) follow(branch, event);
    }
  }

  /** Its work is in the store now, or was not handed in: then this copy, which stays, has it alone. */
  #retireGuest(id: string): void {
    const guest = this.#guests.get(id);
    this.#guests.delete(id);
    const { copy, run } = guest ?? {};
    if (copy) void run?.parts.copies().then((copies) => copies.retire(copy));
  }
}

const releases: ReadonlySet<string> = new Set(["agent.budget_settled", "agent.budget_corrected"]);

/** The types that `follow` handles. Every event goes to every branch of its run. */
const followed: ReadonlySet<string> = new Set([
  ...releases,
  ...["agent.answered", "agent.claimed"],
  ...["agent.subagent_waiting_for_merge", "agent.subagent_closed"],
]);

function follow(branch: Branch, event: StoredEvent): void {
  const { delegations, execution, settings } = branch;
  switch (event.type) {
    case "agent.budget_settled":
    case "agent.budget_corrected":
      branch.funds.notify();
      break;
    case "agent.answered":
      settleAsk(branch, event);
      break;
    case "agent.claimed": {
      const isHere = event.sub_agent_id === execution.here?.id;
      if (isHere && event.payload.fence > settings.ownership.fence) loseRun(branch);
      break;
    }
    case "agent.subagent_waiting_for_merge": {
      const child = delegations.byId.get(event.sub_agent_id ?? "");
      if (child && child.parent === execution.here && child.contract.workspace.copy !== undefined)
        integrate(branch, child).catch(leaveToRecovery);
      break;
    }
    case "agent.subagent_closed": {
      const live = delegations.byId.get(event.payload.sub_agent_id);
      if (live) closed(branch, live).catch(leaveToRecovery);
      break;
    }
    default:
  }
}

/** Compares memory with the log: closes and answers may have been written before it was followed. */
export async function catchUp(branch: Branch): Promise<void> {
  const { here, log } = branch.execution;
  if (log === null) return;
  for (const live of [...branch.delegations.byId.values()]) {
    const isClosed = log.delegations.get(live.id)?.status === "closed";
    if (isClosed && live.process.end.result === null) await closed(branch, live);
  }
  const delegation = here === null ? undefined : log.delegations.get(here.id);
  if (!here || !delegation || here.process.end.isEnding) return;
  const wasAnswered = openAskOf(here.state) !== null && openAskOf(delegation) === null;
  if (wasAnswered) await reload(here, delegation);
}

/** A child's work was handed in, and this process integrates it. */
async function integrate(branch: Branch, child: LiveDelegation): Promise<void> {
  const delegation = branch.execution.log?.delegations.get(child.id);
  // Work that was refused at once was closed in the same append.
  if (delegation?.status !== "waiting_for_merge") return;
  if (child.process.end.isEnding || outputOf(child) !== null) return;
  child.adopt(delegation);
  await reload(child, delegation);
  branch.changed.notify();
  const output = outputOf(child);
  if (child.copy !== null && output !== null) return finish(child, output);
  await closeWith(child, failure({ code: "working_copy_gone" }));
}

/** It was closed by its own worker, or by a person. */
async function closed(branch: Branch, live: LiveDelegation): Promise<void> {
  const { end } = live.process;
  const { execution, id, parts } = branch;
  const wasOpen = !end.isEnding;
  end.isEnding = true;
  if (wasOpen && live === execution.here) live.work.stop({ code: "ended_outside" });
  let state = execution.log;
  // A new branch has a copy of the state until its claim is written.
  if (state?.delegations.get(live.id)?.status !== "closed") {
    state = (await parts.store.readRun(id)) ?? null;
  }
  const result = state && resultOf(state, live.id);
  if (!state || !result) return;
  live.adopt(state.delegations.get(live.id) ?? live.state);
  end.closed(result);
  if (wasOpen && !branch.lost && live !== execution.here) retireCopy(live);
}

/** The store cannot be used: recovery reads in the log what remains to be done. */
function leaveToRecovery(): void {}
