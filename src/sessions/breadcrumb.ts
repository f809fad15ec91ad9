import type { CloseReason } from "../events/close-reason.ts";
import type { Delegation } from "../events/delegation.ts";
import { harmlessLine } from "./harmless-text.ts";
import {
  lastActivity,
  type SessionCapability,
  type SessionStatus,
  sessionStatus,
} from "./session.ts";

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
