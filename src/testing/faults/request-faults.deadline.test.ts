/** A promise about real time: a provider that asks for a pause gets it. */
import { expect, it } from "vitest";
import { models, openProviderDesk, refuse, say } from "./provider-scene.test-support.ts";

const desk = openProviderDesk();

it.each(models)(
  "fault 6: %s: a 429 with retry-after is waited out for at least so long, and not much longer",
  async (model) => {
    const slow = refuse(429, "slow down", { "retry-after": "1" });
    const after = await desk.meet(model, [slow, say(model, { text: "All is well." })]);
    expect(after.told.status).toBe("completed");
    const [first = 0, second = 0] = desk.askedAt;
    // Whole milliseconds are counted, and timers may be one early.
    expect(second - first).toBeGreaterThanOrEqual(997);
    expect(second - first).toBeLessThan(20_000);
  },
);
