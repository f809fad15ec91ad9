import { queryObjects } from "node:v8";
import { expect, it } from "vitest";
import { Scheduler } from "./scheduler.ts";

class Work {
  readonly begin = (): void => undefined;
}

it("keeps nothing of what it has given a slot", () => {
  const scheduler = new Scheduler(2);
  for (let index = 0; index < 100; index++) {
    const work = new Work();
    scheduler.enter(() => work.begin());
    if (index % 2 === 1) for (let served = 0; served < 2; served++) scheduler.leave();
  }
  expect(scheduler.queued).toBe(0);
  expect(queryObjects(Work)).toBeLessThanOrEqual(1);
});
