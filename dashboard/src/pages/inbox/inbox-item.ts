import type { Operations } from "../../../../src/surfaces/client/mandate-client.ts";

type InboxReply = Operations["listInbox"]["reply"];

export type ShownItem = InboxReply["items"][number];

/**
 * One item for each question: while it is open it is a card above, and once it is closed the item of
 * its answer has the question too.
 */
export function noticesIn(items: readonly ShownItem[]): readonly ShownItem[] {
  return items.filter(({ ask }) => ask === undefined);
}

/** Where it leads: to its delegation, or to the run. */
export function addressOf({ delegationId, runId }: ShownItem): string {
  return delegationId === undefined ? `/runs/${runId}` : `/delegations/${delegationId}`;
}

export interface ToldDeadline {
  readonly text: string;
  readonly isNear: boolean;
}

const minute = 60_000;

/** How long an answer would still count. */
export function tellDeadline(deadlineAt: number, now: number): ToldDeadline {
  const left = Math.ceil((deadlineAt - now) / 1000);
  if (left <= 0) return { text: "Deadline passed", isNear: true };
  const [days, hours] = [Math.floor(left / 86_400), Math.floor((left % 86_400) / 3600)];
  const [minutes, seconds] = [Math.floor((left % 3600) / 60), left % 60];
  const two = (part: number): string => String(part).padStart(2, "0");
  if (days > 0) return { text: `${days} d ${hours} h left`, isNear: false };
  if (hours > 0) return { text: `${hours}:${two(minutes)}:${two(seconds)} left`, isNear: false };
  return { text: `${minutes}:${two(seconds)} left`, isNear: left * 1000 <= minute };
}

/** What happens without an answer. */
export function tellDefault(isApproval: boolean, answer: string | null): string {
  if (answer !== null) return "Answer at the deadline:";
  return isApproval
    ? "Rejected at the deadline without an answer."
    : "At the deadline the agent continues without an answer.";
}
