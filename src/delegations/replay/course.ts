import type { NewEvent, StoredEvent } from "../../events/event.ts";
import type { LiveDelegation } from "../live-delegation.ts";
import { WorkingTime } from "../working-time.ts";
import { endedByOthers, recordedEnds } from "./recorded-stops.ts";

/**
 * How far a replay has come in what was recorded. What comes from outside (an answer, a result, a
 * cancel) is let in when everything that the log has before it has happened again, so that the
 * order in which the tree met it is the recorded one, whatever the timing. Events of different
 * delegations may change places in between: each delegation has its own order only.
 */
export class Course {
  /** Changes with every event: whoever waits for too long can see that nothing moves. */
  steps = 0;
  readonly #events: readonly StoredEvent[];
  readonly #own: ReadonlyMap<string, readonly StoredEvent[]>;
  /** Of delegations that others ended: how many events of their own they have before that. */
  readonly #ended: ReadonlyMap<string, number>;
  /** Where each began to end, or those who fell with it. */
  readonly #ends: ReadonlyMap<string, number>;
  readonly #ordinal = new Map<number, number>();
  readonly #seen = new Map<string, number>();
  readonly #strayed = new Set<string>();
  /** When the run was taken up by another worker; those that are still to come. */
  readonly #deaths: number[];
  #next = 0;
  #waiting: Waiting[] = [];
  #hasGivenUp = false;

  constructor(events: readonly StoredEvent[]) {
    this.#events = events;
    this.#ended = endedByOthers(events);
    this.#ends = recordedEnds(events, true);
    this.#own = Map.groupBy(events, keyOf);
    this.#deaths = events.flatMap(({ seq, type }) => (type === "run.resumed" ? seq : []));
    for (const own of this.#own.values()) {
      for (const [index, { seq }] of own.entries()) this.#ordinal.set(seq, index);
    }
  }

  /** The first recorded event that has not happened again; undefined: all have. */
  get next(): StoredEvent | undefined {
    return this.#events[this.#next];
  }

  see(events: readonly NewEvent[]): void {
    for (const event of events) {
      // Messages are let in beside the course, and no delegation waits for one.
      if (event.type === "agent.message_sent") continue;
      const key = keyOf(event);
      const count = this.#seen.get(key) ?? 0;
      // Who goes another way than recorded is not waited for any more.
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
   * The log has nothing more of this delegation before its worker died: whatever it was about to
   * write then, nobody wrote.
   */
  isBeyondDeath(delegationId: string): boolean {
    const death = this.#deaths[0];
    if (death === undefined || this.#hasGivenUp) return false;
    const next = this.#own.get(delegationId)?.[this.seenOf(delegationId)];
    return next === undefined || next.seq > death;
  }

  /**
   * When a delegation that could go on at once may do so: it had waited then, for a slot or for time
   * to pass, and what it can reserve depends on what others have reserved by then. Undefined: now.
   */
  pace(delegationId: string): Promise<void> | undefined {
    if (this.hasStrayed(delegationId)) return undefined;
    const seen = this.seenOf(delegationId);
    const next = this.#own.get(delegationId)?.[seen];
    // It never came to go on: somebody will stop it, or the log ends here.
    if (next === undefined || this.#ended.get(delegationId) === seen) return never();
    // With its end, others may fall before it.
    return this.when(Math.min(next.seq, this.endOf(delegationId)));
  }

  /** Where it began to end, or those who fell with it. */
  endOf(delegationId: string): number {
    return this.#ends.get(delegationId) ?? Number.POSITIVE_INFINITY;
  }

  /** Undefined: now. */
  when(seq: number): Promise<void> | undefined {
    return this.hasReached(seq) ? undefined : this.arrival(seq);
  }

  /** Everything before that event has happened again. */
  hasReached(seq: number): boolean {
    return this.#hasGivenUp || this.next === undefined || seq <= this.next.seq;
  }

  /**
   * Its own end was under way when others ended it: it had answered, and had not handed that in. Its
   * own end is then never heard of again; the end that others make of it is.
   */
  isOvertaken(delegationId: string): boolean {
    const own = this.#own.get(delegationId) ?? [];
    const ended = this.#ended.get(delegationId) ?? 0;
    const [turn, settled] = own.slice(Math.max(0, ended - 2), ended);
    if (turn?.type !== "agent.model_turn" || settled?.type !== "agent.budget_settled") return false;
    return (turn.payload.calls ?? []).length === 0;
  }

  /** Acts as soon as everything before that event has happened again, and `isReady` besides. */
  at(seq: number, act: () => void, isReady: () => boolean = always): void {
    this.#waiting.push({ seq, act, isReady });
    this.#advance();
  }

  /** Not in the same breath: what follows by itself from the event before comes first. */
  arrival(seq: number): Promise<void> {
    return new Promise((resolve) => this.at(seq, () => setImmediate(resolve)));
  }

  /** Nothing moves any more: whatever waits for its turn is let in. */
  giveUp(): void {
    this.#hasGivenUp = true;
    this.#advance();
  }

  #advance(): void {
    while (this.next !== undefined && this.#isPast(this.next)) this.#next++;
    const position = this.#hasGivenUp
      ? Number.POSITIVE_INFINITY
      : (this.next?.seq ?? Number.POSITIVE_INFINITY);
    for (;;) {
      const index = this.#waiting.findIndex(
        (one) => one.seq <= position && (this.#hasGivenUp || one.isReady()),
      );
      const [due] = index < 0 ? [] : this.#waiting.splice(index, 1);
      if (due === undefined) return;
      // What it does may be seen at once, and let in more.
      due.act();
    }
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

/** Nobody waits for slots or for time to pass in a replay: an agent goes on when it went on. */
export function keepPace(agent: LiveDelegation, course: Course): void {
  const { time } = agent.process;
  time.takeSlot = () => {
    // There is always one.
    WorkingTime.prototype.takeSlot.call(time);
    return course.pace(agent.id);
  };
  time.untilReleased = async () => {
    await WorkingTime.prototype.untilReleased.call(time);
    await course.pace(agent.id);
  };
  // Before it ends it waits for what it left running: there it waits until it ended.
  agent.process.holdsProcesses = true;
  agent.work.sleep = async () => {
    await agent.work.interruptible(course.pace(agent.id) ?? Promise.resolve());
  };
}
