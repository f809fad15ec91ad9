import { type Contract, clientOf } from "../contracts/contract.ts";
import type { Selection } from "../contracts/selection.ts";
import type { CloseReason } from "../events/close-reason.ts";
import type { Delegation } from "../events/delegation.ts";
import { childrenOf, type RunState } from "../events/run-state.ts";
import { statusOf } from "./delegation-result.ts";
import type { SessionTrigger } from "./session-trigger.ts";

export type SessionCapability = "primary" | "subtask" | "watcher" | "orchestrator";

/** The words of the lifecycle while it is open; how it ended after that. */
export type SessionStatus =
  | "created"
  | "running"
  | "waiting_for_merge"
  | "completed"
  | "failed"
  | "timeout"
  | "cancelled";

/**
 * What is known of one agent's session, apart from what was said in it. Everything in it follows from
 * the log and the contract; nothing is kept for it.
 */
export interface AgentSessionContext {
  /** The delegation whose session it is, and the point from which it can be continued. */
  readonly sessionId: string;
  readonly runId: string;
  /** The handle that it was asked by, or the program that runs it, or else its profile. */
  readonly agentId: string;
  readonly profile: string;
  readonly capability: SessionCapability;
  readonly title: string;
  readonly workspace: {
    readonly root: string | null;
    readonly isolation: Contract["workspace"]["isolation"];
    readonly allowWrites: boolean;
  };
  readonly permissions: {
    readonly tools: readonly string[];
    readonly skills: Selection;
    readonly servers: Selection;
    readonly network: Selection;
  };
  readonly trigger: SessionTrigger;
  readonly parentId: string | null;
  readonly childIds: readonly string[];
  readonly status: SessionStatus;
  /** Null while it is open. */
  readonly closeReason: CloseReason | null;
  readonly createdAt: number;
  /** Null while it waits for a slot. */
  readonly startedAt: number | null;
  readonly lastActivityAt: number;
  /** Null while it is open. */
  readonly finishedAt: number | null;
  /** One run for each message of the person, and for each resumption; the oldest first. */
  readonly runIds: readonly string[];
}

export interface SessionFacts {
  readonly run: RunState;
  readonly delegation: Delegation;
  readonly contract: Contract;
  readonly trigger: SessionTrigger;
  readonly title: string;
  readonly runIds: readonly string[];
}

export function sessionContext(facts: SessionFacts): AgentSessionContext {
  const { contract, delegation, run, runIds, title, trigger } = facts;
  const { permissions, profile, workspace } = contract;
  const isClosed = delegation.status === "closed";
  return {
    sessionId: delegation.id,
    runId: run.id,
    agentId: profile.agent ?? clientOf(contract) ?? profile.id,
    profile: profile.id,
    capability: capabilityOf(contract),
    title,
    workspace: {
      root: workspace.root,
      isolation: workspace.isolation,
      allowWrites: workspace.allow_writes,
    },
    permissions: {
      tools: permissions.allowed_tools,
      skills: permissions.skills,
      servers: permissions.mcp_servers,
      network: permissions.network,
    },
    trigger,
    parentId: delegation.parentId,
    childIds: childrenOf(run, delegation.id).map(({ id }) => id),
    status: sessionStatus(delegation),
    closeReason: isClosed ? delegation.closeReason : null,
    createdAt: delegation.createdAt,
    startedAt: delegation.startedAt,
    lastActivityAt: lastActivity(delegation),
    finishedAt: isClosed ? delegation.closedAt : null,
    runIds,
  };
}

export function capabilityOf({ profile }: Pick<Contract, "profile">): SessionCapability {
  return profile.capability ?? "subtask";
}

export function sessionStatus(delegation: Delegation): SessionStatus {
  return delegation.status === "closed"
    ? statusOf(delegation.finalStatus, delegation.closeReason)
    : delegation.status;
}

/** Whose session a person has: the agent that the run was started with. */
export function rootOf(run: RunState): Delegation | undefined {
  return run.delegations.values().find(({ depth, parentId }) => parentId === null && depth === 0);
}

export function lastActivity(delegation: Delegation): number {
  if (delegation.status === "closed") return delegation.closedAt;
  if (delegation.status === "running") return delegation.lastEventAt;
  return delegation.startedAt ?? delegation.createdAt;
}
