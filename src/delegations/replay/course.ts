import type { NewEvent, StoredEvent } from "../../events/event.ts";
import type { LiveDelegation } from "../live-delegation.ts";
import { WorkingTime } from "../working-time.ts";
import { endedByOthers, recordedEnds } from "./recorded-stops.ts";
import type { RecordedTakeover } from "./recorded-takeovers.ts";

/**
 * The position of a replay in the recorded log. An input from outside (an answer, a result, a cancel)
 * is injected once every event that the log has before it has happened again. So the run meets its
 * inputs in the recorded order, whatever the timing. Only the order within one delegation is kept:
 * events of different delegations may change places.
 */
export class Course {
  /** Grows with every event, so that a standstill can be noticed. */
  steps = 0;
  readonly #events: readonly StoredEvent[];
  readonly #own: ReadonlyMap<string, readonly StoredEvent[]>;
  /** For each delegation that was ended from outside: how many events it has before that. */
  readonly #ended: ReadonlyMap<string, number>;
  /** The first event of each delegation's end, or of the ends of descendants that ended with it. */
  readonly #ends: ReadonlyMap<string, number>;
  readonly #ordinal = new Map<number, number>();
  readonly #seen = new Map<string, number>();
  readonly #strayed = new Set<string>();
  /** The remaining events at which another worker recovered the run. */
  readonly #deaths: number[];
  /** The events at which another worker took one delegation over, by delegation. */
  readonly #losses = new Map<string, number[]>();
  #next = 0;
  #waiting: Waiting[] = [];
  #hasGivenUp = false;
  #isAdvancing = false;

  constructor(events: readonly StoredEvent[], takeovers: readonly RecordedTakeover[] = []) {
    this.#events = events;
    this.#ended = endedByOthers(events);
    this.#ends = recordedEnds(events, { withOutput: true });
    this.#own = Map.groupBy(events, keyOf);
    this.#deaths = events.flatMap(({ seq, type }) => (type === "run.resumed" ? seq : []));
    for (const { delegationId, lostAt } of takeovers) {
      this.#losses.set(delegationId, [...(this.#losses.get(delegationId) ?? []), lostAt]);
    }
    for (const own of this.#own.values()) {
      for (const [index, { seq }] of own.entries()) this.#ordinal.set(seq, index);
    }
  }

  get isDistributed(): boolean {
    const [first] = this.#events;
    return first?.type === "run.started" && first.payload.spread !== undefined;
  }

  /** The first recorded event that has not happened again; undefined: all have. */
  get next(): StoredEvent | undefined {
    return this.#events[this.#next];
  }

  see(events: readonly NewEvent[]): void {
    for (const event of events) {
      // Messages have no place in the recorded order, and no delegation waits for one.
      if (event.type === "agent.message_sent") continue;
      const key = keyOf(event);
      const count = this.#seen.get(key) ?? 0;
      // The replay does not wait for a delegation that has diverged from the recording.
      if (this.#own.get(key)?.[count]?.type !== event.type) this.#strayed.add(key);
      this.#seen.set(key, count + 1);
      if (event.type === "run.resumed") this.#deaths.shift();
    }
    this.steps++;
    this.#advance();
  }

  /** How many events of a delegation have happened again. */
  seenOf(delegationId: string): number {
    return this.#seen.get(delegationId) ?? 0;
  }

  /** The next recorded events of a delegation, up to the first that is of another kind. */
  nextOf(delegationId: string, isWanted: (event: StoredEvent) => boolean): readonly StoredEvent[] {
    if (this.hasStrayed(delegationId)) return [];
    const left = (this.#own.get(delegationId) ?? []).slice(this.seenOf(delegationId));
    const end = left.findIndex((event) => !isWanted(event));
    return end < 0 ? left : left.slice(0, end);
  }

  hasStrayed(delegationId: string): boolean {
    return this.#strayed.has(delegationId) || this.#hasGivenUp;
  }

  /**
   * The delegation has no further event before its worker died, so the events that it was about to
   * write were never written.
   */
  isBeyondDeath(delegationId: string): boolean {
    const [death = Number.POSITIVE_INFINITY] = this.#deaths;
    const [loss = Number.POSITIVE_INFINITY] = this.#losses.get(delegationId) ?? [];
    const first = Math.min(death, loss);
    if (first === Number.POSITIVE_INFINITY || this.#hasGivenUp) return false;
    const next = this.#own.get(delegationId)?.[this.seenOf(delegationId)];
    return next === undefined || next.seq > first;
  }

  /** From here on another worker writes the events of a delegation. */
  takeOver(delegationId: string): void {
    this.#losses.get(delegationId)?.shift();
  }

  /**
   * Delays a delegation that need not wait in a replay. In the recorded run it waited for a slot or
   * for time to pass, and how much it could reserve depended on what others had reserved by then.
   * Undefined: no delay.
   */
  pace(delegationId: string): Promise<void> | undefined {
    if (this.hasStrayed(delegationId)) return undefined;
    const seen = this.seenOf(delegationId);
    const next = this.#own.get(delegationId)?.[seen];
    // The delegation did not continue: it was stopped, or the log ends here.
    if (next === undefined || this.#ended.get(delegationId) === seen) return never();
    // The descendants may have closed before the delegation, together with it.
    return this.when(Math.min(next.seq, this.endOf(delegationId)));
  }

  /** The first event of the delegation's end, or of the ends of descendants that ended with it. */
  endOf(delegationId: string): number {
    return this.#ends.get(delegationId) ?? Number.POSITIVE_INFINITY;
  }

  /** Resolves when everything before that event has happened again. Undefined: it has. */
  when(seq: number): Promise<void> | undefined {
    return this.hasReached(seq) ? undefined : this.arrival(seq);
  }

  /** Whether everything before that event has happened again. */
  hasReached(seq: number): boolean {
    return this.#hasGivenUp || this.next === undefined || seq <= this.next.seq;
  }

  /**
   * The delegation was ended from outside after its final answer and before that answer was handed
   * in. Its own end was never recorded; the end from outside was.
   */
  isOvertaken(delegationId: string): boolean {
    const own = this.#own.get(delegationId) ?? [];
    const ended = this.#ended.get(delegationId) ?? 0;
    const [turn, settled] = own.slice(Math.max(0, ended - 2), ended);
    if (turn?.type !== "agent.model_turn" || settled?.type !== "agent.budget_settled") return false;
    return (turn.payload.calls ?? []).length === 0;
  }

  /** Calls `act` once everything before that event has happened again and `isReady` is true. */
  at(seq: number, act: () => void, isReady: () => boolean = always): void {
    this.#waiting.push({ seq, act, isReady });
    this.#advance();
  }

  /** Resolves in a later turn of the event loop, after the consequences of the event before. */
  arrival(seq: number): Promise<void> {
    return new Promise((resolve) => this.at(seq, () => setImmediate(resolve)));
  }

  /** Lets everything through that waits, after the replay made no progress. */
  giveUp(): void {
    this.#hasGivenUp = true;
    this.#advance();
  }

  #advance(): void {
    // What `act` appends is followed here: a log has thousands of events that follow each other.
    if (this.#isAdvancing) return;
    this.#isAdvancing = true;
    try {
      while (this.#actOnce());
    } finally {
      this.#isAdvancing = false;
    }
  }

  /** Calls the first that is due; false: none is. */
  #actOnce(): boolean {
    while (this.next !== undefined && this.#isPast(this.next)) this.#next++;
    const position = this.#hasGivenUp
      ? Number.POSITIVE_INFINITY
      : (this.next?.seq ?? Number.POSITIVE_INFINITY);
    const index = this.#waiting.findIndex(
      (one) => one.seq <= position && (this.#hasGivenUp || one.isReady()),
    );
    const [due] = index < 0 ? [] : this.#waiting.splice(index, 1);
    due?.act();
    return due !== undefined;
  }

  #isPast(event: StoredEvent): boolean {
    const key = keyOf(event);
    if (this.#strayed.has(key)) return true;
    return this.seenOf(key) > (this.#ordinal.get(event.seq) ?? 0);
  }
}

interface Waiting {
  readonly seq: number;
  readonly act: () => void;
  readonly isReady: () => boolean;
}

const always = (): boolean => true;

function never(): Promise<never> {
  return new Promise(() => undefined);
}

function keyOf({ sub_agent_id: id = "" }: NewEvent): string {
  return id;
}

/** A replay has no slots and no delays: each delegation continues when it continued in the recording. */
export function followCourse(agent: LiveDelegation, course: Course): void {
  const { time } = agent.process;
  time.takeSlot = () => {
    // A replay always has a free slot.
    WorkingTime.prototype.takeSlot.call(time);
    return course.pace(agent.id);
  };
  time.untilReleased = async () => {
    // Workers of a distributed run learned of a release at moments of their own.
    if (!course.isDistributed) await WorkingTime.prototype.untilReleased.call(time);
    await course.pace(agent.id);
  };
  // Before it ends it releases its processes: `release` delays it there until its recorded end.
  agent.process.holdsProcesses = true;
  agent.work.sleep = async () => {
    await agent.work.interruptible(course.pace(agent.id) ?? Promise.resolve());
  };
}
