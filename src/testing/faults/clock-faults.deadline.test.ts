/** A promise about real time: deadlines are counted by a clock that cannot jump. */
import { expect, it } from "vitest";
import { ofType } from "../engine-fixture.ts";
import { nothing } from "./aftermath.test-support.ts";
import { life, lostRequest, meetFault } from "./fault-scene.test-support.ts";
import { jumpingClock } from "./jumping-clock.test-support.ts";

const hour = 3_600_000;

it.each([
  ["on", hour],
  ["back", -hour],
])(
  "fault 19: a deadline goes off in its own time, though the clock jumped an hour %s",
  async (_way, by) => {
    const clock = jumpingClock(by);
    const began = performance.now();
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
    const took = performance.now() - began;
    expect(took).toBeGreaterThan(140);
    expect(took).toBeLessThan(20_000);
    expect(ofType(after.log, "agent.subagent_failed", after.child)).toHaveLength(1);
  },
);
