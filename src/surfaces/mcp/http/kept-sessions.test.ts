import { expect, it } from "vitest";
import { ManualClock } from "../../../testing/manual-clock.ts";
import { KeptSessions } from "./kept-sessions.ts";

it("keeps a session of which it cannot be said whether it works, and ends it when it can", async () => {
  const clock = new ManualClock();
  let isAway = true;
  let looks = 0;
  const closed: string[] = [];
  const kept = new KeptSessions<string>({
    idleMs: 40,
    maxPerOwner: 4,
    clock,
    close: (session) => void closed.push(session),
    isBusy: async () => {
      looks++;
      if (isAway) throw new Error("The database is away.");
      return false;
    },
  });
  for (const name of ["first", "second"]) {
    (await kept.open("owner", name, async () => name))?.release();
  }
  await clock.advance(150);
  expect(looks).toBeGreaterThan(2);
  expect(closed).toEqual([]);
  isAway = false;
  await clock.advance(100);
  expect(closed).toEqual(["first", "second"]);
  kept.stop();
  expect(clock.waiting).toBe(0);
});
