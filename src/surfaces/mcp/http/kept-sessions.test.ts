import { setTimeout as delay } from "node:timers/promises";
import { expect, it } from "vitest";
import { KeptSessions } from "./kept-sessions.ts";

it("keeps a session of which it cannot be said whether it works, and ends it when it can", async () => {
  let isAway = true;
  const closed: string[] = [];
  const kept = new KeptSessions<string>({
    idleMs: 40,
    maxPerOwner: 4,
    now: () => performance.now(),
    close: (session) => void closed.push(session),
    isBusy: async () => {
      if (isAway) throw new Error("The database is away.");
      return false;
    },
  });
  for (const name of ["first", "second"]) {
    (await kept.open("owner", name, async () => name))?.release();
  }
  await delay(150);
  expect(closed).toEqual([]);
  isAway = false;
  await delay(100);
  expect(closed).toEqual(["first", "second"]);
  kept.stop();
});
