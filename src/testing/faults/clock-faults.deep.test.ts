/** Clocks that jump: state, log, the parent's view, remains. */
import { expect, it } from "vitest";
import { type Clock, systemClock } from "../../ports/clock.ts";
import { ofType } from "../engine-fixture.ts";
import { nothing } from "./aftermath.test-support.ts";
import { life, lostRequest, meetFault, turn } from "./fault-scene.test-support.ts";

const hour = 3_600_000;

/** Is what the machine's is until it jumps; what passes goes on passing. */
function jumpingClock(by: number): Clock & { jump(): void } {
  let off = 0;
  return {
    ...systemClock,
    now: () => Date.now() + off,
    jump() {
      off = by;
    },
  };
}

it.each([
  ["on", hour],
  ["back", -hour],
])(
  "fault 19: a clock that jumps an hour %s expires nothing, and nothing is out of order",
  async (_way, by) => {
    const clock = jumpingClock(by);
    const after = await meetFault({
      clock,
      child: { limits: { timeoutMs: 20_000 } },
      answers() {
        clock.jump();
        return { text: "in time", latency_ms: 60 };
      },
      leadSays: { text: "noted", latency_ms: 60 },
    });
    expect(after).toMatchObject({
      state: "closed completed report_accepted",
      events: life(...turn, "waiting_for_merge", "completed"),
      ofRun: ["run.started", "run.finished"],
      told: { status: "completed", result: "in time" },
      left: nothing,
    });
    const times = after.log.map(({ at }) => at);
    expect(Math.abs((times.at(-1) ?? 0) - (times[0] ?? 0))).toBeGreaterThan(hour / 2);
    expect(after.log.map(({ run_seq: number }) => number)).toEqual(
      times.map((_at, index) => index + 1),
    );
  },
);

it.each([
  ["on", hour],
  ["back", -hour],
])(
  "fault 19: a deadline goes off in its own time, though the clock jumped an hour %s",
  async (_way, by) => {
    const clock = jumpingClock(by);
    const after = await meetFault({
      clock,
      child: { limits: { timeoutMs: 150 } },
      answers() {
        clock.jump();
        return { fault: "hang" };
      },
    });
    expect(after).toMatchObject({
      state: "closed failed timeout",
      events: life(...lostRequest, "failed"),
      told: { status: "timeout", closeReason: "timeout", result: "It took longer than 150 ms." },
      left: nothing,
    });
    expect(after.took).toBeGreaterThan(140);
    expect(after.took).toBeLessThan(5000);
    expect(ofType(after.log, "agent.subagent_failed", after.child)).toHaveLength(1);
  },
);
