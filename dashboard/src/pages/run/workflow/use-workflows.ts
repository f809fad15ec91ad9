import { useMemo } from "react";
import { type Delegation, shownName } from "../../../../../src/events/delegation.ts";
import {
  type WorkflowCallView,
  type WorkflowView,
  workflowsIn,
} from "../../../../../src/sessions/workflow-view.ts";
import type { RunView } from "../replay/use-replay.ts";

export interface Workflows {
  readonly views: readonly WorkflowView[];
  nameOf(delegationId: string): AgentName;
}

/** An agent in the tree, the Gantt chart and the timeline. */
export interface AgentName {
  readonly name: string;
  readonly about: string;
}

/** The workflows of a run as it is shown, and the names of its agents: a script labels its own. */
export function useWorkflows(feed: RunView): Workflows {
  const { version } = feed;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the version is what changes.
  return useMemo(() => {
    const views = feed.events.some(({ type }) => type === "agent.workflow_started")
      ? workflowsIn(feed.state, feed.events)
      : [];
    const calls = new Map<string, WorkflowCallView>();
    for (const call of views.flatMap((view) => view.calls)) {
      if (call.delegation !== undefined) calls.set(call.delegation, call);
    }
    const { delegations } = feed.state;
    return { views, nameOf: (id) => nameOf(id, delegations.get(id), calls.get(id)) };
  }, [feed, version]);
}

function nameOf(
  id: string,
  delegation: Delegation | undefined,
  call: WorkflowCallView | undefined,
): AgentName {
  if (delegation === undefined) return { name: id, about: "" };
  const name = shownName(delegation);
  if (call === undefined) return { name, about: delegation.title };
  const about = call.phase === null ? name : `${call.phase} · ${name}`;
  return { name: call.label, about };
}
