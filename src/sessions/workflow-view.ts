import type { Delegation } from "../events/delegation.ts";
import type { StoredEvent, TokenUsage } from "../events/event.ts";
import type { RunState } from "../events/run-state.ts";
import type {
  WorkflowCallKind,
  WorkflowCallReason,
  WorkflowPayloads,
} from "../events/workflow-payloads.ts";

/** One call of a script, as people see it. */
export interface WorkflowCallView {
  readonly key: string;
  readonly kind: WorkflowCallKind;
  readonly label: string;
  readonly phase: string | null;
  /**
   * `replayed`: the result was recorded by an earlier run; `null`, `skipped`: the script got null, for
   * an agent that failed or that was cancelled; `failed`: the call threw.
   */
  readonly state: "waiting" | "running" | "done" | "replayed" | "null" | "skipped" | "failed";
  /** Why a call ran again in a resumed workflow. */
  readonly why?: WorkflowCallReason;
  readonly delegation?: string;
  readonly usage?: TokenUsage;
  readonly error?: string;
}

/** A workflow as one runner carried it out. */
export interface WorkflowView {
  /** The delegation that runs the script. */
  readonly delegationId: string;
  readonly name: string;
  readonly description: string;
  /** The hash of the stored script with its arguments. */
  readonly document: string;
  readonly resumes: string | null;
  /** The phases that the script declares, then those that it began. */
  readonly phases: readonly string[];
  readonly calls: readonly WorkflowCallView[];
  readonly lines: readonly string[];
}

type Started = WorkflowPayloads["agent.workflow_started"];
type Called = WorkflowPayloads["agent.workflow_called"];
type Settled = WorkflowPayloads["agent.workflow_settled"];

/** The workflows of a run, as a fold of its events. Pure. */
export function workflowsIn(run: RunState, events: Iterable<StoredEvent>): readonly WorkflowView[] {
  const found = new Map<string, Gathered>();
  for (const event of events) {
    const id = event.sub_agent_id ?? "";
    if (event.type === "agent.workflow_started") {
      found.set(id, {
        started: event.payload,
        called: [],
        settled: new Map(),
        lines: [],
        phases: [],
      });
    }
    const gathered = found.get(id);
    if (gathered === undefined) continue;
    const { called, lines, phases, settled } = gathered;
    if (event.type === "agent.workflow_called") called.push(event.payload);
    else if (event.type === "agent.workflow_settled") settled.set(event.payload.key, event.payload);
    else if (event.type === "agent.workflow_noted") {
      (event.payload.kind === "log" ? lines : phases).push(event.payload.text);
    }
  }
  return [...found].map(([delegationId, gathered]) => viewOf(run, delegationId, gathered));
}

interface Gathered {
  readonly started: Started;
  readonly called: Called[];
  readonly settled: Map<string, Settled>;
  readonly lines: string[];
  readonly phases: string[];
}

function viewOf(run: RunState, delegationId: string, gathered: Gathered): WorkflowView {
  const { called, lines, phases, settled, started } = gathered;
  const children = new Map(
    [...run.delegations.values()].flatMap(({ callId, id, parentId }) => {
      const key = parentId === delegationId ? callId?.split("/")[1] : undefined;
      return key === undefined ? [] : [[key, id]];
    }),
  );
  const calls = called.map((call): WorkflowCallView => {
    const { key, kind, label, phase = null, taken_from: taken, why } = call;
    const end = settled.get(key);
    const delegation = taken ?? children.get(key);
    const child = run.delegations.get(children.get(key) ?? "");
    const usage = child?.usage;
    return {
      ...{ key, kind, label, phase, state: stateOf(call, end, child) },
      ...(why !== undefined && { why }),
      ...(delegation !== undefined && { delegation }),
      ...(usage && { usage }),
      ...(end?.error && { error: end.error.message }),
    };
  });
  const { description, document, name, resumes = null } = started;
  const titles = started.phases.map(({ title }) => title);
  const begun = [...phases, ...calls.flatMap(({ phase }) => phase ?? [])];
  return {
    ...{ delegationId, name, description, document, resumes, calls, lines },
    phases: [...new Set([...titles, ...begun])],
  };
}

function stateOf(
  { taken_from: taken }: Called,
  end: Settled | undefined,
  child: Delegation | undefined,
): WorkflowCallView["state"] {
  if (taken !== undefined) return "replayed";
  if (end === undefined) return child === undefined ? "waiting" : "running";
  if (end.outcome !== "null") return end.outcome === "value" ? "done" : "failed";
  return child?.status === "closed" && child.closeReason === "cancelled" ? "skipped" : "null";
}
