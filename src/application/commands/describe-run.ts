import { labelOfEnd } from "../../events/cause.ts";
import { describeStatus } from "../../events/close-reason.ts";
import { type Delegation, openAskOf, shownName } from "../../events/delegation.ts";
import { childrenAfterAnswer, type RunState } from "../../events/run-state.ts";
import { atMost, atMostCost, type Spent } from "../../events/spent.ts";
import { infoOf, statusOf } from "../../sessions/delegation-result.ts";
import { harmlessLine } from "../../sessions/harmless-text.ts";
import type { Cap, KnownRun, ResumedWork } from "../steering.ts";

const titleLength = 100;

/** A delegation in replies: `oracle#3f2a10`, its name and id. */
export function labelOf(delegation: Pick<Delegation, "client" | "id" | "profile">): string {
  return `${shownName(delegation)}#${delegation.id}`;
}

/** A task or title as one line without hidden characters. */
export function titleLine(text: string): string {
  return harmlessLine(text, titleLength);
}

/** A delegation without a parent that is not the root is a watcher. */
export function isWatching({ depth, parentId }: Delegation): boolean {
  return parentId === null && depth > 0;
}

/** The state of a delegation in fixed words. */
export function stateOf(
  delegation: Delegation,
  { isInterrupted, log }: { readonly log: RunState; readonly isInterrupted: boolean },
): string {
  if (delegation.status === "closed") {
    const { closeReason, finalStatus } = delegation;
    const status = statusOf(finalStatus, closeReason);
    return describeStatus(status, closeReason, labelOfEnd(delegation));
  }
  if (isInterrupted) return "interrupted";
  const children = childrenAfterAnswer(log, delegation).length;
  if (children > 0 && openAskOf(delegation) === null) return describeAnswered(children);
  const { waitingOn } = infoOf(log, delegation);
  const state = isWatching(delegation) ? "watching" : stateWords[delegation.status];
  const isBusy = waitingOn === undefined || ["slot", "runtime"].includes(waitingOn.on);
  return isBusy ? state : `${state} (${waitingOn.on})`;
}

/** The state of a delegation that answered and waits for background children. */
export function describeAnswered(children: number): string {
  return `answered, ${children} sub-agent${children === 1 ? "" : "s"} at work`;
}

const stateWords: Readonly<Record<Exclude<Delegation["status"], "closed">, string>> = {
  created: "queued",
  running: "running",
  waiting_for_merge: "handing in",
  completed: "handing in",
  failed: "ending",
};

export function runStateOf({ isInterrupted, state }: KnownRun): string {
  if (state === null) return "unreadable";
  return state.outcome ?? (isInterrupted ? "interrupted" : "running");
}

/** Tokens and cost, with their caps: `24300 tokens, $0.1100`. Estimates are marked. */
export function amountsOf(spent: Spent, cap: Cap | null = null): string {
  const tokens = `${spent.tokens}${cap === null ? "" : ` of ${cap.tokens}`} tokens`;
  const cost = `${dollars(spent.cost)}${cap?.cost == null ? "" : ` of ${dollars(cap.cost)}`}`;
  return `${atMost(tokens, spent)}, ${atMostCost(cost, spent)}${excessOf(spent, cap)}`;
}

/** The excess over a cap, which occurs when a provider reports more than the request allowed. */
function excessOf({ cost, tokens }: Spent, cap: Cap | null): string {
  if (cap === null) return "";
  if (tokens > cap.tokens) return ` (over the cap by ${tokens - cap.tokens} tokens)`;
  const dearer = cost - (cap.cost ?? Number.POSITIVE_INFINITY);
  return dearer > 1e-9 ? ` (over the cap by ${dollars(dearer)})` : "";
}

function dollars(cost: number): string {
  return `$${cost.toFixed(4)}`;
}

/** The first lines, and the number of the others. */
export function firstLines(lines: readonly string[], most: number): readonly string[] {
  if (lines.length <= most) return lines;
  return [...lines.slice(0, most), `… and ${lines.length - most} more.`];
}

/** The reply for resumed work on every surface: a line for each run. */
export function describeResumed(
  { refused, runs }: Pick<ResumedWork, "refused" | "runs">,
  /** The id as the person typed it. */
  id: string,
): string {
  const isOne = runs.length + refused.length === 1;
  const lines = runs.map(({ agents, as, delegationId, from, runId }) => {
    if (as === "new") return `Resumed ${isOne ? id : from} as ${delegationId} in run ${runId}.`;
    const isOwn = agents.includes(delegationId);
    return isOwn
      ? `Run ${runId} continues where it stopped.`
      : `Run ${runId} continues where it stopped, with its sub-agents alone: ${agents.join(", ")}.`;
  });
  const left = refused.map((one) => `${one.delegationId} was not resumed: ${one.reason}`);
  return [...lines, ...left].join("\n");
}
