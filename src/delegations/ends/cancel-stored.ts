import { type Cause, closeReasonOf } from "../../events/cause.ts";
import { type Delegation, isOpen } from "../../events/delegation.ts";
import type { NewEvent } from "../../events/event.ts";
import { describeRunCause } from "../../events/run-cause.ts";
import { childrenOf, subtree } from "../../events/run-state.ts";
import { Evidence } from "../../events/seal.ts";
import { worstCaseOf } from "../../events/spent.ts";
import type { CancelOutcome } from "../../ports/delegator.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { Store } from "../../ports/store.ts";
import type { Toolbox } from "../../tools/toolbox.ts";
import { followCalls, type LiveDelegation, type MutableCalls } from "../live-delegation.ts";
import { closingEvents } from "./closing-events.ts";
import { failure } from "./ending.ts";

const patience = 100;

/**
 * Cancels a delegation that another process works on, or none does: the whole subtree is closed in
 * one append, and the owner of the run finds out by being refused. Decided from what was read, so it
 * applies only while nothing was written since.
 */
export async function cancelStored(
  { store, toolbox }: { readonly store: Store; readonly toolbox: Pick<Toolbox, "get"> },
  runId: string,
  id: string,
  cause: Cause,
): Promise<CancelOutcome> {
  const code = closeReasonOf(cause);
  for (let tries = 1; ; tries++) {
    const said = new Map<string, Said>();
    let lastRunSeq = 0;
    let at = 0;
    for await (const event of store.readEvents({ runId })) {
      lastRunSeq = event.run_seq;
      at = event.at;
      if (event.sub_agent_id !== undefined) see(said, event.sub_agent_id, event);
    }
    const run = await store.readRun(runId);
    if (run === undefined) return "not_found";
    const root = [...run.delegations.values()].find(({ parentId }) => parentId === null);
    const top = id === runId ? root : run.delegations.get(id);
    if (top === undefined) return "not_found";
    if (!isOpen(top)) return "already_terminal";
    const isWholeRun = top.depth === 0;
    // A watcher belongs to no caller, and closes with the run.
    const watchers = isWholeRun ? childrenOf(run, null).filter((one) => one !== top) : [];
    try {
      const closing = [...watchers, ...subtree(run, top.id)].filter(isOpen).flatMap((state) => {
        const why = state === top ? cause : ({ code: "caller_ended", closed_as: code } as const);
        const told = { id: state.id, state, said: said.get(state.id) ?? newSaid() };
        const settlement = worstSettlement(state);
        return closingEvents(told, { ending: failure(why) }, { toolbox, at, settlement }).events;
      });
      if (isWholeRun) {
        const outcome = code === "cancelled" ? "cancelled" : "failed";
        const reason = describeRunCause(cause);
        closing.push({ type: "run.finished", payload: { outcome, cause, reason } });
      }
      await store.append({ runId, by: "operator", events: closing, ifRunSeq: lastRunSeq });
      return "cancelled";
    } catch (error) {
      const isRace =
        error instanceof MandateError &&
        (error.code === "conflict" || error.code === "illegal-transition");
      if (!isRace || tries >= patience) throw error;
      // The owner writes faster than this process reads: the next try comes after a random moment.
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 5 * tries));
    }
  }
}

/** Cancels a delegation that another process works on, and everything below it. */
export async function cancelRemote(live: LiveDelegation, cause: Cause): Promise<CancelOutcome> {
  const { id, parts } = live.run;
  const outcome = await cancelStored(parts, id, live.id, cause);
  if (outcome !== "not_found") await live.process.end.whenClosed();
  return outcome;
}

interface Said {
  readonly openCalls: MutableCalls;
  readonly evidence: Evidence;
}

function newSaid(): Said {
  return { openCalls: new Map(), evidence: new Evidence() };
}

function see(all: Map<string, Said>, id: string, event: NewEvent): void {
  let said = all.get(id);
  if (said === undefined) {
    said = newSaid();
    all.set(id, said);
  }
  followCalls(said.openCalls, event);
  said.evidence.see(event);
}

/** Only the process that had sent the request knows how much of the answer had arrived. */
export function worstSettlement(state: Delegation): readonly NewEvent[] {
  if (state.status !== "running") return [];
  return state.reservations.map((reservation): NewEvent => {
    const { request, tokens } = reservation;
    const payload = {
      request,
      reserved: tokens,
      ...worstCaseOf(reservation),
      estimated: true,
    } as const;
    return { type: "agent.budget_settled", sub_agent_id: state.id, payload };
  });
}
