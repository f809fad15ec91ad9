import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { foldRun } from "../../../../../src/events/run-state.ts";
import { tellEvents, tellTeam } from "../gantt/told-events.test-support.ts";
import { nextPlace, playPause } from "./play.ts";
import { RunReplay } from "./run-replay.ts";

describe("RunReplay", () => {
  it("gives the same as folding that many events, wherever it was before", () => {
    const events = tellTeam();
    const place = fc.integer({ min: 0, max: events.length });
    fc.assert(
      fc.property(fc.array(place, { minLength: 1, maxLength: 20 }), (places) => {
        const replay = new RunReplay("r000001", events);
        for (const count of places) {
          expect(replay.at(count).state).toEqual(foldRun("r000001", events.slice(0, count)));
        }
      }),
    );
  });

  it("goes back over long logs from its copies, which later moments do not change", () => {
    const turns = Array.from({ length: 9000 }, (_, index) => index);
    const events = tellEvents(
      [0, null, "run.started"],
      [0, "a", "agent.subagent_created"],
      [0, "a", "agent.subagent_started"],
      ...turns.map((at) => [at, "a", "agent.model_turn", { served: `m${at % 7}` }] as const),
    );
    const replay = new RunReplay("r000001", events);
    for (const count of [9003, 4100, 3999, 8000, 2001, 5]) {
      const { notes, state } = replay.at(count);
      expect(state).toEqual(foldRun("r000001", events.slice(0, count)));
      expect(notes.get("a")?.served.length).toBe(Math.min(count - 3, 7));
    }
  });
});

describe("playing", () => {
  it("takes every event of a short run, and some seconds for a long one", () => {
    expect([nextPlace(3, 40), playPause(40)]).toEqual([4, 250]);
    const steps = 100_000 / (nextPlace(0, 100_000) - 0);
    expect((steps * playPause(100_000)) / 1000).toBeLessThan(20);
    expect(nextPlace(99_999, 100_000)).toBe(100_000);
  });
});
