import type { EventType } from "../event.ts";
import type { Invariant } from "./check-report.ts";
import type { ForgedLog, LooseEvent } from "./forged-log.test-support.ts";
import type { HealthyRuns } from "./healthy-database.test-support.ts";

/** One thing wrong, and the one invariant that has to say so. */
export interface SeededBug {
  readonly title: string;
  readonly invariant: Invariant;
  /** How it says so, where another rule of the same invariant could say something else. */
  readonly says?: RegExp;
  change(log: ForgedLog, runs: HealthyRuns): void;
}

/** Where in a run the n-th event of a type stands; of a profile's delegation, if one is named. */
export type Finder = (type: EventType, profile?: string, number?: number) => number;

/** Changes the events of a run. */
export function inRun(
  run: keyof HealthyRuns,
  title: string,
  invariant: Invariant,
  change: (events: LooseEvent[], find: Finder) => LooseEvent[],
): SeededBug {
  return {
    title,
    invariant,
    change: (log, runs) => log.rewrite(runs[run], (events) => change(events, finderIn(events))),
  };
}

/** Changes the contract of the first delegation of a profile, as if it had been created so. */
export function withContract(
  title: string,
  invariant: Invariant,
  profile: string,
  change: Parameters<ForgedLog["replaceContract"]>[2],
  run: keyof HealthyRuns = "rich",
): SeededBug {
  return {
    title,
    invariant,
    change(log, { [run]: runId }) {
      const events = log.eventsOf(runId);
      const created = events[finderIn(events)("agent.subagent_created", profile)];
      log.replaceContract(runId, created?.sub_agent_id ?? "", change);
    },
  };
}

export function repeat(events: readonly LooseEvent[], at: number): LooseEvent[] {
  return events.toSpliced(at, 0, ...events.slice(at, at + 1));
}

/** Puts events of the delegation that the event there is about in before it. */
export function insert(
  events: readonly LooseEvent[],
  at: number,
  ...added: readonly { readonly type: EventType; readonly payload: object }[]
): LooseEvent[] {
  return events.toSpliced(at, 0, ...added.map((one) => ({ ...events[at], ...one }) as LooseEvent));
}

/** Takes an event out and puts it in again before another one. */
export function move(events: readonly LooseEvent[], from: number, to: number): LooseEvent[] {
  const moved = events.slice(from, from + 1);
  return events.toSpliced(from, 1).toSpliced(from < to ? to - 1 : to, 0, ...moved);
}

export function patch(events: readonly LooseEvent[], at: number, fields: object): LooseEvent[] {
  return events.map((event, index) =>
    index === at ? ({ ...event, payload: { ...event.payload, ...fields } } as LooseEvent) : event,
  );
}

export function patchSeal(events: readonly LooseEvent[], at: number, fields: object): LooseEvent[] {
  const event = events[at];
  if (event?.type !== "agent.subagent_closed") throw new Error("only a close has a seal");
  return patch(events, at, { seal: { ...event.payload.seal, ...fields } });
}

function finderIn(events: readonly LooseEvent[]): Finder {
  const profiles = new Map<string | undefined, string>();
  for (const event of events) {
    if (event.type === "agent.subagent_created") {
      profiles.set(event.sub_agent_id, event.payload.profile);
    }
  }
  return (type, profile, number = 1) => {
    let left = number;
    const at = events.findIndex((event) => {
      if (event.type !== type) return false;
      if (profile !== undefined && profiles.get(event.sub_agent_id) !== profile) return false;
      return --left === 0;
    });
    if (at < 0) throw new Error(`the run has no ${type} of ${profile ?? "itself"}`);
    return at;
  };
}
