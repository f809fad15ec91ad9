import { type Contract, clientOf } from "../contracts/contract.ts";
import type { Selection } from "../contracts/selection.ts";
import { saidIn } from "../events/agent-work.ts";
import type { CloseReason } from "../events/close-reason.ts";
import type { Delegation } from "../events/delegation.ts";
import type { StoredEvent } from "../events/event.ts";
import { rootIdOf } from "../events/root-facts.ts";
import { childrenOf, type RunState } from "../events/run-state.ts";
import { statusOf } from "./delegation-result.ts";
import { harmlessLine } from "./harmless-text.ts";

export type SessionCapability = "primary" | "subtask" | "watcher" | "orchestrator";

/** The status of the lifecycle while the session is open; afterwards how it ended. */
export type SessionStatus =
  | "created"
  | "running"
  | "waiting_for_merge"
  | "completed"
  | "failed"
  | "timeout"
  | "cancelled";

/**
 * An agent's session without its entries. All of it is derived from the log and the contract; nothing else
 * is stored.
 */
export interface AgentSessionContext {
  /** The delegation of the session, from which it can be continued. */
  readonly sessionId: string;
  readonly runId: string;
  /** The agent's handle, or the program that runs it, or else its profile. */
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
  /** Why the session closed; null while it is open. */
  readonly closeReason: CloseReason | null;
  readonly createdAt: number;
  /** Null while it waits for a slot. */
  readonly startedAt: number | null;
  readonly lastActivityAt: number;
  /** Null while it is open. */
  readonly finishedAt: number | null;
  /** The runs of the session, one for each message of the person and for each resumption, oldest first. */
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

/** The root of a run, whose session a person sees. */
export function rootOf(run: RunState): Delegation | undefined {
  return run.delegations.get(rootIdOf(run) ?? "");
}

export function lastActivity(delegation: Delegation): number {
  if (delegation.status === "closed") return delegation.closedAt;
  if (delegation.status === "running") return delegation.lastEventAt;
  return delegation.startedAt ?? delegation.createdAt;
}

/** How a session was started. */
export type SessionTrigger =
  /** A person gave it a task, or continued it. */
  | { readonly by: "person" }
  /** The agent of another program is the author. */
  | { readonly by: "program"; readonly name: string }
  /** A call of the parent. */
  | { readonly by: "tool"; readonly tool: string; readonly callId: string }
  | { readonly by: "slash"; readonly word: string }
  | { readonly by: "step"; readonly step: string; readonly callId: string }
  | { readonly by: "watcher"; readonly watches: string };

/** Whether a person or program started it, and not another agent. */
export function isByPerson({ by }: SessionTrigger): boolean {
  return by === "person" || by === "program" || by === "slash";
}

type Made = Pick<Delegation, "callId" | "parentId">;

/**
 * The trigger of a delegation. `events` are those of its run, of which the parent's calls and the plans are
 * read. A call id that begins with a slash is a slash command (`/oracle`, or `/oracle#2`).
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
    if (event.sub_agent_id !== parentId) continue;
    const made = saidIn(event)?.calls.find(({ id }) => id === callId || id === call);
    if (made) tool = made.name;
  }
  return { by: "tool", tool, callId };
}

/** One line about a child in its parent's session, without the child's conversation. */
export interface SessionBreadcrumb {
  readonly delegationId: string;
  readonly profile: string;
  /** Null where its contract cannot be read. */
  readonly capability: SessionCapability | null;
  readonly status: SessionStatus;
  /** Null while it is open. */
  readonly closeReason: CloseReason | null;
  /** One line of at most 240 characters: the seal's summary or the failure; while it is open, its title. */
  readonly summary: string;
  readonly at: number;
  /** The relative link to the child's own session. */
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
 * Whether the task of a delegation that continues another one is a new message. It is not when the earlier
 * one did not complete and the task is the same.
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
