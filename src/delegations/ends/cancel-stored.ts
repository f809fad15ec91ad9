import { type Cause, closeReasonOf, describeRunCause } from "../../events/cause.ts";
import { type Delegation, type Failure, isOpen } from "../../events/delegation.ts";
import { worstCaseOf } from "../../events/estimated-usage.ts";
import type { NewEvent, StoredEvent } from "../../events/event.ts";
import { Evidence } from "../../events/evidence.ts";
import { childrenOf, subtree } from "../../events/run-state.ts";
import type { CancelOutcome } from "../../ports/delegator.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { Store } from "../../ports/store.ts";
import type { Toolbox } from "../../tools/toolbox.ts";
import { endedCall, summaryOf } from "./conclude.ts";
import { failureBy } from "./ending.ts";

const patience = 100;

/**
 * Ends a delegation that another process works on, or nobody does: the whole subtree is closed
 * in one append, and whoever owns the run finds out by being refused. Decided from what was read,
 * so it applies only while nothing was written since.
 */
export async function cancelStored(
  store: Store,
  toolbox: Pick<Toolbox, "get">,
  runId: string,
  id: string,
  cause: Cause,
): Promise<CancelOutcome> {
  const code = closeReasonOf(cause);
  for (let tries = 1; ; tries++) {
    const events: StoredEvent[] = [];
    for await (const event of store.readEvents({ runId })) events.push(event);
    const run = await store.readRun(runId);
    if (run === undefined) return "not_found";
    const root = [...run.delegations.values()].find(({ parentId }) => parentId === null);
    const top = id === runId ? root : run.delegations.get(id);
    if (top === undefined) return "not_found";
    if (!isOpen(top)) return "already_terminal";
    const lastRunSeq = events.at(-1)?.run_seq ?? 0;
    const isWholeRun = top.depth === 0;
    // Who only watches belongs to nobody, and ends with the run.
    const watchers = isWholeRun ? childrenOf(run, null).filter((one) => one !== top) : [];
    const byDelegation = Map.groupBy(events, (event) => event.sub_agent_id);
    const closing = [...watchers, ...subtree(run, top.id)].filter(isOpen).flatMap((delegation) => {
      const own = byDelegation.get(delegation.id) ?? [];
      const why = delegation === top ? cause : ({ code: "caller_ended", closed_as: code } as const);
      return closingEvents(delegation, own, toolbox, failureBy({ cause: why }));
    });
    if (isWholeRun) {
      const outcome = code === "cancelled" ? "cancelled" : "failed";
      const reason = describeRunCause(cause);
      closing.push({ type: "run.finished", payload: { outcome, cause, reason } });
    }
    try {
      await store.append({ runId, by: "operator", events: closing, ifRunSeq: lastRunSeq });
      return "cancelled";
    } catch (error) {
      const isRace =
        error instanceof MandateError &&
        (error.code === "conflict" || error.code === "illegal-transition");
      if (!isRace || tries >= patience) throw error;
      // Its owner writes faster than we read: give it a moment that is not always the same.
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 5 * tries));
    }
  }
}

function closingEvents(
  delegation: Delegation,
  own: readonly StoredEvent[],
  toolbox: Pick<Toolbox, "get">,
  failure: Failure,
): NewEvent[] {
  const id = delegation.id;
  const events: NewEvent[] = [];
  for (const [callId, tool] of openCalls(own)) {
    const isHarmless = toolbox.get(tool)?.idempotent === true;
    events.push(endedCall(id, { callId, tool, isHarmless }));
  }
  let { usage } = delegation;
  if (delegation.status === "running" && delegation.reservation) {
    const { reservation } = delegation;
    // What had arrived of its answer is known to the process that had sent it, and to no other.
    const { completion, cost, prompt } = worstCaseOf(reservation);
    usage = {
      prompt: usage.prompt + prompt,
      completion: usage.completion + completion,
      cost: usage.cost + cost,
      ...((usage.estimated || reservation.prompt !== undefined) && { estimated: true }),
    };
    events.push({
      type: "agent.budget_settled",
      sub_agent_id: id,
      payload: {
        request: reservation.request,
        reserved: reservation.tokens,
        prompt,
        completion,
        cost,
        estimated: true,
      },
    });
  }
  const evidence = new Evidence();
  for (const event of own) evidence.see(event);
  const output = delegation.status === "waiting_for_merge" ? delegation.output : null;
  events.push(
    { type: "agent.subagent_failed", sub_agent_id: id, payload: failure },
    {
      type: "agent.subagent_closed",
      sub_agent_id: id,
      payload: {
        sub_agent_id: id,
        step_idx: delegation.stepIdx,
        final_status: "failed",
        close_reason: failure.code,
        seal: {
          summary: output === null ? "" : summaryOf(output.text),
          output_hash: output?.hash ?? null,
          usage,
          turns: delegation.turns,
          attempts: delegation.attempt,
          ...evidence.asSealed(),
        },
      },
    },
  );
  return events;
}

function openCalls(events: readonly StoredEvent[]): Map<string, string> {
  const open = new Map<string, string>();
  for (const event of events) {
    if (event.type === "agent.tool_started") open.set(event.payload.call_id, event.payload.tool);
    else if (
      event.type === "agent.tool_completed" ||
      event.type === "agent.tool_failed" ||
      event.type === "agent.tool_outcome_unknown"
    ) {
      open.delete(event.payload.call_id);
    }
  }
  return open;
}
