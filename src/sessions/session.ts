import { type Contract, clientOf } from "../contracts/contract.ts";
import type { Selection } from "../contracts/selection.ts";
import type { CloseReason } from "../events/close-reason.ts";
import type { Delegation } from "../events/delegation.ts";
import type { StoredEvent } from "../events/event.ts";
import { childrenOf, type RunState } from "../events/run-state.ts";
import { statusOf } from "./delegation-result.ts";
import { harmlessLine } from "./harmless-text.ts";

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

/** How a session came to be. */
export type SessionTrigger =
  /** It was given a task, or was continued. */
  | { readonly by: "person" }
  /** Another program's agent works here. */
  | { readonly by: "program"; readonly name: string }
  /** A call of its parent. */
  | { readonly by: "tool"; readonly tool: string; readonly callId: string }
  | { readonly by: "slash"; readonly word: string }
  | { readonly by: "step"; readonly step: string; readonly callId: string }
  | { readonly by: "watcher"; readonly watches: string };

/** Who speaks at its beginning: a person, or an agent that had it do something. */
export function isByPerson({ by }: SessionTrigger): boolean {
  return by === "person" || by === "program" || by === "slash";
}

type Made = Pick<Delegation, "callId" | "parentId">;

/**
 * `events` are those of the run; only the parent's calls and the plans among them matter. A call id
 * that begins with a slash is the command that a person typed (`/oracle`, or `/oracle#2`).
 */
export function triggerOf(
  { callId, parentId }: Made,
  contract: Pick<Contract, "model" | "parent" | "profile">,
  events: Iterable<StoredEvent>,
): SessionTrigger {
  const { watches } = contract.parent;
  if (watches !== undefined) return { by: "watcher", watches };
  if (callId === null) {
    const name = clientOf(contract);
    return name === undefined ? { by: "person" } : { by: "program", name };
  }
  const [, word] = /^(\/[^#/\s]+)/.exec(callId) ?? [];
  if (word !== undefined) return { by: "slash", word };
  const slash = callId.lastIndexOf("/");
  const [call, step] = slash < 0 ? [callId, ""] : [callId.slice(0, slash), callId.slice(slash + 1)];
  let tool = "";
  for (const event of events) {
    if (event.type === "run.planned" && event.payload.call_id === call) {
      if (event.payload.steps.some(({ key }) => key === step)) return { by: "step", step, callId };
    }
    if (event.type !== "agent.model_turn" || event.sub_agent_id !== parentId) continue;
    const made = event.payload.calls?.find(({ id }) => id === callId || id === call);
    if (made) tool = made.name;
  }
  return { by: "tool", tool, callId };
}

/** What a parent's session keeps of a child: who it was and how it ended, and never its words. */
export interface SessionBreadcrumb {
  readonly delegationId: string;
  readonly profile: string;
  /** Null where its contract cannot be read. */
  readonly capability: SessionCapability | null;
  readonly status: SessionStatus;
  /** Null while it is open. */
  readonly closeReason: CloseReason | null;
  /** One line, at most 240 characters: of the seal once there is one, until then what it is for. */
  readonly summary: string;
  readonly at: number;
  /** Where the child's own session is, relative to wherever sessions are. */
  readonly link: string;
}

const summaryLength = 240;

export function breadcrumbOf(
  child: Delegation,
  capability: SessionCapability | null,
): SessionBreadcrumb {
  const isClosed = child.status === "closed";
  return makeBreadcrumb({
    delegationId: child.id,
    profile: child.profile,
    capability,
    status: sessionStatus(child),
    closeReason: isClosed ? child.closeReason : null,
    summary: isClosed ? howItEnded(child) : child.title,
    at: lastActivity(child),
  });
}

export function makeBreadcrumb(about: Omit<SessionBreadcrumb, "link">): SessionBreadcrumb {
  const summary = harmlessLine(about.summary, summaryLength);
  return { ...about, summary, link: `sessions/${about.delegationId}` };
}

function howItEnded({ failure, seal }: Extract<Delegation, { status: "closed" }>): string {
  return failure?.error ?? seal.summary;
}

/**
 * Whether the task of a delegation that continues another one is something new that a person
 * said. Where nothing was completed and the task is the same, the old task continues.
 */
export function isFurtherMessage(
  before: Pick<Contract, "step">,
  ended: Delegation | undefined,
  task: string,
): boolean {
  const isCompleted =
    ended?.status === "waiting_for_merge" ||
    (ended?.status === "closed" && ended.finalStatus === "completed");
  return isCompleted || before.step.description !== task;
}
