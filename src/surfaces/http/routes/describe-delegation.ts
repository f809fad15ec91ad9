import { z } from "zod";
import { isWatching } from "../../../application/commands/describe-run.ts";
import { closeReasons } from "../../../events/close-reason.ts";
import type { Delegation, WaitingOn } from "../../../events/delegation.ts";
import type { RunState } from "../../../events/run-state.ts";
import type { Seal } from "../../../events/seal.ts";
import { spentOf } from "../../../events/spent.ts";
import type { DelegationResult } from "../../../ports/delegator.ts";
import type { Store } from "../../../ports/store.ts";
import { infoOf } from "../../../sessions/delegation-result.ts";
import { grantedCaps } from "../../../sessions/read-run.ts";
import { sessionStatus } from "../../../sessions/session.ts";
import { listOf, moment, plainData } from "./shared-schemas.ts";

const closeReason = z.enum(closeReasons);

/** The outcome of a delegation, for callers. */
const resultStatus = z.enum(["completed", "failed", "timeout", "cancelled"]);

export const estimated = z.literal(true).optional().meta({
  description: "A provider did not report all of it: the value is an upper bound.",
});

export const client = z.string().optional().meta({
  description: 'The program that runs an agent whose profile is "external".',
});

export const tokenUsage = z.object({
  prompt: z.number(),
  completion: z.number(),
  cost: z.number().meta({ description: "US dollars." }),
  estimated,
});

export const artifactReference = z.object({ hash: z.string(), bytes: z.number() });

export const seal = plainData<Seal>(
  "The record of the runtime: summary, output_hash, usage, turns, tool_calls, attempts, requested, served, calls, exits, files.",
);

export const delegationResult = z.object({
  delegationId: z.string(),
  profile: z.string(),
  client,
  status: resultStatus,
  outcome: z
    .enum(["succeeded", "failed", "cancelled"])
    .optional()
    .meta({ description: "For the root of a run: the outcome of the whole run." }),
  result: z.string().meta({ description: "The final text, or the error message." }),
  tokenUsage,
  duration: z.number().meta({ description: "Milliseconds." }),
  subDelegations: listOf(plainData<DelegationResult>("The result of a child.")).optional(),
  truncated: z.literal(true).optional(),
  closeReason,
  evidence: seal,
  artifacts: listOf(artifactReference).optional(),
});

/** A final answer before its delegation closes. */
export const earlyAnswer = z.object({
  text: z.string(),
  truncated: z.boolean(),
  running: listOf(z.string()).meta({
    description: "Its background sub-agents that are still running.",
  }),
});

/** One delegation in a list or a tree. */
export const delegationRow = z.object({
  delegationId: z.string(),
  runId: z.string(),
  parentId: z.string().nullable(),
  profile: z.string(),
  client,
  title: z.string(),
  status: z.enum(["created", "running", "waiting_for_merge", "completed", "failed", "closed"]),
  /** Null while it is open. */
  outcome: resultStatus.nullable(),
  closeReason: closeReason.nullable(),
  /** Null when it is closed or orphaned. */
  waitingOn: plainData<WaitingOn | null>(
    "{ on, detail? }: what it waits on; null when it is closed or orphaned.",
  ),
  isWatching: z.boolean(),
  /** The delegation is open and orphaned. */
  isInterrupted: z.boolean(),
  depth: z.number(),
  attempt: z.number(),
  model: z.object({
    requested: z.string().nullable().meta({ description: "What its contract asks for." }),
    served: listOf(z.string()).meta({ description: "The models that answered, as far as known." }),
  }),
  tokens: z.number(),
  cost: z.number(),
  estimated,
  unmetered: z.literal(true).optional().meta({
    description:
      "An agent program works with a login of its own: tokens and cost are not metered, and the caps on them are not enforced.",
  }),
  cap: z
    .object({ tokens: z.number(), cost: z.number().nullable(), timeMs: z.number() })
    .nullable()
    .meta({ description: "What it and all delegations below it may spend by its contract." }),
  turns: z.number(),
  toolCalls: z.number(),
  createdAt: moment,
  startedAt: moment.nullable(),
  closedAt: moment.nullable(),
  elapsedMs: z.number(),
});

export type DelegationRow = z.infer<typeof delegationRow>;

export interface RowSurroundings {
  readonly isInterrupted: boolean;
  readonly now: number;
  /** The models that have answered, by open delegation. */
  readonly served?: ReadonlyMap<string, readonly string[]> | undefined;
}

/**
 * Describes a delegation for a list or a tree. Its caps come from its contract, which is read once.
 */
export async function describeDelegation(
  store: Store,
  run: RunState,
  delegation: Delegation,
  { isInterrupted, now, served }: RowSurroundings,
): Promise<DelegationRow> {
  const caps = await grantedCaps(store, delegation.id);
  const isClosed = delegation.status === "closed";
  const { attempt, client, depth, parentId, profile, title, waitingOn } = infoOf(run, delegation);
  const isGone = isInterrupted && !isClosed;
  return {
    delegationId: delegation.id,
    runId: run.id,
    parentId,
    profile,
    ...(client !== undefined && { client }),
    title,
    status: delegation.status,
    outcome: isClosed ? (sessionStatus(delegation) as z.infer<typeof resultStatus>) : null,
    closeReason: isClosed ? delegation.closeReason : null,
    waitingOn: isGone ? null : (waitingOn ?? null),
    isWatching: isWatching(delegation),
    isInterrupted: isGone,
    depth,
    attempt,
    model: {
      requested: caps?.model ?? null,
      served: isClosed ? delegation.seal.served : (served?.get(delegation.id) ?? []),
    },
    ...spentOf(delegation),
    cap: caps && { tokens: caps.tokens, cost: caps.cost, timeMs: caps.timeMs },
    turns: delegation.turns,
    toolCalls: delegation.toolCalls,
    createdAt: delegation.createdAt,
    startedAt: delegation.startedAt,
    closedAt: isClosed ? delegation.closedAt : null,
    elapsedMs: (isClosed ? delegation.closedAt : now) - delegation.createdAt,
  };
}
