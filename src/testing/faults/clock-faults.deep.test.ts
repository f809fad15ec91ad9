/** Clocks that jump: state, log, the parent's view, remains. */
import { expect, it } from "vitest";
import { nothing } from "./aftermath.test-support.ts";
import { life, meetFault, turn } from "./fault-scene.test-support.ts";
import { jumpingClock } from "./jumping-clock.test-support.ts";

const hour = 3_600_000;

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
