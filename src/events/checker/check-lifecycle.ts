import type { EventType, StoredEvent } from "../event.ts";
import { isEventType } from "../summarize.ts";
import type { Invariant } from "./check-report.ts";
import type { CheckedRun, Known, Phase } from "./checked-run.ts";

/**
 * The grammar of a delegation's own events, written down a second time on purpose: a mistake in the
 * table that the runtime follows must not be the checker's mistake too.
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

/** A person may be asked about its merge, a provider may report late, its children may rest. */
const whileWaiting: ReadonlySet<EventType> = new Set([
  "agent.paused",
  "agent.resumed",
  "agent.asked",
  "agent.answered",
  "agent.budget_corrected",
]);

const lifecycle: ReadonlySet<EventType> = new Set(Object.values(steps).flatMap(typesIn));

/** Where an event leads, wherever it came from: one that was illegal has happened all the same. */
const arrivals: Partial<Record<EventType, Phase>> = Object.assign({}, ...Object.values(steps));

/** I2 (one creation, first), I3's order, I4, I5, and I9's one output. */
export class LifecycleCheck {
  readonly #run: CheckedRun;
  readonly #uncreated = new Set<string>();

  constructor(run: CheckedRun) {
    this.#run = run;
  }

  /** The delegation that the event is about, moved on by it; undefined when that is illegal. */
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
  // Workers come and go as long as there is something to do.
  if (type === "agent.claimed") return openPhases.has(phase) ? phase : undefined;
  // A message can be sent before its delegation has begun; once it hands in, it reads no more.
  if (type === "agent.message_sent" && phase === "created") return phase;
  if (lifecycle.has(type)) return steps[phase][type];
  if (phase === "waiting" && whileWaiting.has(type)) return phase;
  // Whatever else a delegation does, it does while it runs.
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
