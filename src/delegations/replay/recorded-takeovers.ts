import type { StoredEvent } from "../../events/event.ts";
import { firstOfEnd } from "./recorded-stops.ts";
import type { Recording } from "./recording.ts";

/**
 * A moment at which a delegation of a distributed run lost its worker, or was resumed by a person: from
 * here on another worker has it, by the log.
 */
export interface RecordedTakeover {
  readonly delegationId: string;
  /** The first event that the worker before did not write. */
  readonly seq: number;
  /** The claim, or the event that resumed it: what the worker before had not written by then is lost. */
  readonly lostAt: number;
  /** How many events the delegation has before that. */
  readonly after: number;
  /** What a person's resume wrote; null: the worker had died. */
  readonly resumed: StoredEvent<"agent.resumed"> | null;
}

/** A run of one process has none: another process takes over all of it. */
export function recordedTakeovers({
  claims,
  delegations,
  started,
}: Recording): readonly RecordedTakeover[] {
  if (started.spread === undefined) return [];
  const claimsOf = Map.groupBy(claims, ({ sub_agent_id: id = "" }) => id);
  return [...delegations.values()].flatMap(({ events, id }) =>
    takeoversOf(id, events, claimsOf.get(id) ?? []),
  );
}

function takeoversOf(
  delegationId: string,
  events: readonly StoredEvent[],
  claims: readonly StoredEvent<"agent.claimed">[],
): readonly RecordedTakeover[] {
  const found: RecordedTakeover[] = [];
  const left = claims.filter(({ payload }) => payload.fence > 1);
  let isSuspended = false;
  let hasBegun = false;
  /** A person resumed it, and no worker has continued it yet. */
  let isWoken = false;
  /** How many events it had at its last claim; null: it was not lost since it was suspended or resumed. */
  let claimedAt: number | null = null;
  const claimBefore = (seq: number, after: number): void => {
    for (let claim = left[0]; claim !== undefined && claim.seq < seq; claim = left[0]) {
      left.shift();
      // The worker of a suspended root only carries its interrupt out, and that is recorded.
      if (isSuspended || isWoken || !hasBegun) continue;
      const first = firstOfEnd(events, after);
      // A worker that died before it wrote anything is not seen by a replay.
      if (claimedAt !== null && first <= claimedAt) found.pop();
      claimedAt = after;
      const at = first < after ? events[first]?.seq : undefined;
      const takeover = { delegationId, lostAt: claim.seq, after: first, resumed: null };
      found.push({ ...takeover, seq: at ?? claim.seq });
    }
  };
  for (const [index, event] of events.entries()) {
    claimBefore(event.seq, index);
    if (event.type === "agent.subagent_started") hasBegun = true;
    if (event.type === "agent.resumed" && isSuspended) {
      const { seq } = event;
      found.push({ delegationId, seq, lostAt: seq, after: index, resumed: event });
      isWoken = true;
      isSuspended = false;
      claimedAt = null;
    } else if (isSuspension(event)) {
      isSuspended = true;
      isWoken = false;
      claimedAt = null;
    } else isWoken = false;
  }
  claimBefore(Number.POSITIVE_INFINITY, events.length);
  return found;
}

function isSuspension(event: StoredEvent): boolean {
  if (event.type === "agent.interrupted") return true;
  return event.type === "agent.paused" && event.payload.reason === "interrupt";
}
