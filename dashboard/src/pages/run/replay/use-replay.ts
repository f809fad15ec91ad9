import { useMemo, useState } from "react";
import type { RunFeed } from "../../../data/run-feed.ts";
import type { Moment } from "../gantt/gantt-from.ts";
import { RunReplay } from "./run-replay.ts";

/** What the views of a run read: of the run as it is, or as it was. */
export type RunView = Pick<
  RunFeed,
  "state" | "events" | "notes" | "detail" | "isComplete" | "version"
>;

export interface Replay {
  readonly view: RunView;
  readonly position: number | null;
  setPosition(position: number | null): void;
  /** What is shown; null: now. */
  readonly moment: Moment | null;
}

/** The run as it is now, or after a chosen number of its events. */
export function useReplay(feed: RunFeed): Replay {
  const [position, setPosition] = useState<number | null>(null);
  const { events, runId } = feed;
  const replay = useMemo(() => new RunReplay(runId, events), [runId, events]);
  if (position === null) return { view: feed, position, setPosition, moment: null };
  const { notes, state } = replay.at(position);
  const past = events.slice(0, position);
  // The version tells caches that this is another moment.
  const version = -position;
  const { detail, isComplete } = feed;
  const view = { state, events: past, notes: new Map(notes), detail, isComplete, version };
  const moment = { at: past.at(-1)?.at ?? state.startedAt, count: position };
  return { view, position, setPosition, moment };
}
