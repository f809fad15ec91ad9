import { type CloseReason, closeReasons } from "../close-reason.ts";
import type { EventType, StoredEvent } from "../event.ts";
import { isEventType } from "../summarize.ts";
import type { Invariant } from "./check-report.ts";
import {
  type CheckedRun,
  type Known,
  type Phase,
  type RunCheck,
  withAncestors,
} from "./checked-run.ts";

/**
 * The legal events of a delegation, a second time on purpose: an error in the runtime's table must not be
 * the checker's error as well.
 */
const steps: Readonly<Record<Phase, Partial<Record<EventType, Phase>>>> = {
  created: {
    "agent.model_clamped": "created",
    "agent.skills_clamped": "created",
    "agent.subagent_started": "running",
    "agent.subagent_failed": "failed",
  },
  running: {
    "agent.subagent_attempt": "running",
    "agent.subagent_waiting_for_merge": "waiting",
    "agent.subagent_failed": "failed",
  },
  waiting: {
    "agent.worktree_merged": "waiting",
    "agent.subagent_completed": "integrated",
    "agent.subagent_failed": "failed",
  },
  integrated: { "agent.subagent_closed": "closed" },
  failed: { "agent.subagent_closed": "closed" },
  closed: {},
};

const openPhases: ReadonlySet<Phase> = new Set(["created", "running", "waiting"]);

/** While it waits: approval of its merge, late reports of providers, suspension of its children. */
const whileWaiting: ReadonlySet<EventType> = new Set([
  "agent.paused",
  "agent.resumed",
  "agent.asked",
  "agent.answered",
  "agent.budget_corrected",
]);

const lifecycle: ReadonlySet<EventType> = new Set(Object.values(steps).flatMap(typesIn));

/** The phase that each event leads to. It is assumed even after an illegal event. */
const arrivals: Partial<Record<EventType, Phase>> = Object.assign({}, ...Object.values(steps));

/** I2 (one creation, first), I3's order, I4, I5, and I9's one output. */
export class LifecycleCheck {
  readonly #run: CheckedRun;
  readonly #uncreated = new Set<string>();

  constructor(run: CheckedRun) {
    this.#run = run;
  }

  /** The delegation of the event, in its new phase; undefined: the event is illegal. */
  see(event: StoredEvent, id: string): Known | undefined {
    const known = this.#run.delegations.get(id);
    if (event.type === "agent.subagent_created") {
      if (known === undefined) return this.#create(event, id);
      this.#tell("I2", "It is created a second time.", event, known);
      return undefined;
    }
    if (known === undefined) {
      this.#tellUncreated(event, id);
      return undefined;
    }
    const next = isEventType(event.type) ? stepOf(known.phase, event.type) : undefined;
    if (next === undefined) {
      const message = `${event.type} is not legal while it is ${known.phase}.`;
      this.#tell(invariantOf(known.phase, event.type), message, event, known);
      known.phase = arrivals[event.type] ?? known.phase;
      return undefined;
    }
    known.phase = next;
    return known;
  }

  #create(event: StoredEvent<"agent.subagent_created">, id: string): Known {
    const created = this.#run.add(id, event.payload);
    created.isBroken = this.#uncreated.has(id);
    return created;
  }

  #tell(invariant: Invariant, message: string, { seq }: StoredEvent, known: Known): void {
    this.#run.report(invariant, message, { delegationId: known.id, seq });
    known.isBroken = true;
  }

  #tellUncreated({ seq, type }: StoredEvent, id: string): void {
    if (this.#uncreated.has(id)) return;
    this.#uncreated.add(id);
    this.#run.report("I2", `${type} comes before its creation.`, { delegationId: id, seq });
  }
}

function stepOf(phase: Phase, type: EventType): Phase | undefined {
  // A worker can claim every open delegation.
  if (type === "agent.claimed") return openPhases.has(phase) ? phase : undefined;
  // Messages can be sent before the start, and until the output is handed in.
  if (type === "agent.message_sent" && phase === "created") return phase;
  // Single requests of another program can be clamped as well.
  if (type === "agent.model_clamped" && phase === "running") return phase;
  if (lifecycle.has(type)) return steps[phase][type];
  if (phase === "waiting" && whileWaiting.has(type)) return phase;
  // All other events belong to a running delegation.
  return phase === "running" && type.startsWith("agent.") ? phase : undefined;
}

function invariantOf(phase: Phase, type: EventType): Invariant {
  if (phase === "closed") return "I5";
  if (type === "agent.subagent_started" || type === "agent.subagent_attempt") return "I3";
  if (type === "agent.subagent_waiting_for_merge" && phase !== "created") return "I9";
  return "I4";
}

function typesIn(step: Partial<Record<EventType, Phase>>): EventType[] {
  return Object.keys(step) as EventType[];
}

/** I3: attempts are numbered from one, and are not more than the contract allows. */
export function checkAttempts({ report }: CheckedRun): RunCheck {
  const attempts = new Map<Known, number>();
  return {
    see(event, delegation) {
      if (event.type !== "agent.subagent_attempt" || delegation === undefined) return;
      const where = { delegationId: delegation.id, seq: event.seq };
      const { attempt, of } = event.payload;
      const expected = (attempts.get(delegation) ?? 0) + 1;
      attempts.set(delegation, attempt);
      if (attempt !== expected) {
        report("I3", `Attempt ${attempt} follows where attempt ${expected} was expected.`, where);
      }
      const allowed = delegation.contract && delegation.contract.execution.max_retries + 1;
      if (allowed !== undefined && (attempt > allowed || of !== allowed)) {
        report("I3", `Attempt ${attempt} of ${of}: the contract allows ${allowed}.`, where);
      }
    },
  };
}

/** I6: the close event agrees with the events before it: final status, reason and delegation. */
export function checkEnding({ report }: CheckedRun): RunCheck {
  const ends = new Map<Known, { readonly status: string; readonly reason: CloseReason }>();
  return {
    see(event, delegation) {
      if (delegation === undefined) return;
      if (event.type === "agent.subagent_completed") {
        ends.set(delegation, { status: "completed", reason: event.payload.reason });
      } else if (event.type === "agent.subagent_failed") {
        ends.set(delegation, { status: "failed", reason: event.payload.code });
      } else if (event.type === "agent.subagent_closed") {
        const end = ends.get(delegation);
        ends.delete(delegation);
        for (const problem of endProblems(event, delegation, end)) {
          report("I6", problem, { delegationId: delegation.id, seq: event.seq });
        }
      }
    },
  };
}

function* endProblems(
  { payload }: StoredEvent<"agent.subagent_closed">,
  { id, created }: Known,
  end: { readonly status: string; readonly reason: CloseReason } | undefined,
): Generator<string> {
  if (payload.sub_agent_id !== id || payload.step_idx !== created.step_idx) {
    yield "Its close event names another delegation or step.";
  }
  if (payload.final_status !== end?.status) {
    yield `It is closed as ${payload.final_status}, but it is ${end?.status}.`;
  }
  if (!closeReasons.includes(payload.close_reason)) {
    yield `The close reason ${payload.close_reason} is unknown.`;
  } else if (payload.close_reason !== end?.reason) {
    yield `It is closed for ${payload.close_reason}, but it ended for ${end?.reason}.`;
  }
}

/**
 * I13: a delegation closes only after its descendants; by induction, checking its children is enough. One
 * that has answered waits in `waiting_for_merge` and completes only after its children have closed.
 */
export function checkClosing({ report }: CheckedRun): RunCheck {
  const openChildren = new Map<Known, Set<Known>>();
  const tell = (delegation: Known, what: string, seq: number): void => {
    for (const child of openChildren.get(delegation) ?? []) {
      if (child.phase === "closed" || child.isBroken) continue;
      const message = `It is ${what} while its child ${child.id} is ${child.phase}.`;
      report("I13", message, { delegationId: delegation.id, seq });
    }
  };
  return {
    see(event, delegation) {
      if (delegation === undefined) return;
      const { parent } = delegation;
      if (event.type === "agent.subagent_created" && parent !== null) {
        const siblings = openChildren.get(parent);
        if (siblings) siblings.add(delegation);
        else openChildren.set(parent, new Set([delegation]));
      } else if (event.type === "agent.subagent_completed") {
        tell(delegation, "completed", event.seq);
      } else if (event.type === "agent.subagent_closed") {
        if (parent !== null) openChildren.get(parent)?.delete(delegation);
        tell(delegation, "closed", event.seq);
        openChildren.delete(delegation);
      }
    },
  };
}

const beginnings: ReadonlySet<string> = new Set([
  "agent.subagent_created",
  "agent.subagent_started",
  "agent.subagent_attempt",
  "agent.budget_reserved",
  "agent.tool_started",
]);

/**
 * I17: in a cancelled delegation and below it nothing starts, and neither while it is paused.
 */
export function checkCancel({ report }: CheckedRun): RunCheck {
  const stopped = new Map<Known, "cancelled" | "paused">();
  return {
    see(event, delegation) {
      if (delegation === undefined) return;
      if (event.type === "agent.subagent_failed" && event.payload.code === "cancelled") {
        stopped.set(delegation, "cancelled");
      } else if (event.type === "agent.paused" && event.payload.reason === "interrupt") {
        stopped.set(delegation, "paused");
      } else if (event.type === "agent.resumed" || event.type === "agent.interrupted") {
        stopped.delete(delegation);
      }
      if (stopped.size === 0 || !beginnings.has(event.type)) return;
      for (const above of withAncestors(delegation)) {
        const how = stopped.get(above);
        if (how === undefined) continue;
        const message = `${event.type} follows after ${above.id} was ${how}.`;
        report("I17", message, { delegationId: delegation.id, seq: event.seq });
        return;
      }
    },
  };
}
