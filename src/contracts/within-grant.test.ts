import fc from "fast-check";
import { expect, test } from "vitest";
import { cases } from "../testing/cases.test-support.ts";
import { authorityExcess } from "./authority.ts";
import { narrow, withinGrant } from "./narrow.ts";
import { askings, ceilings } from "./narrowing.test-support.ts";
import { includes } from "./selection.ts";

const tried = cases(5_000);

test("what two profiles both get is no more than either gets, in any field", () => {
  let compared = 0;
  fc.assert(
    fc.property(ceilings, askings, askings, (ceiling, asked, own) => {
      const granted = narrow({ ...asked, ceiling });
      const most = narrow({ ...asked, profile: own.profile, ceiling });
      if (!granted.allowed || !most.allowed) return;
      compared++;
      const both = withinGrant(granted, most);
      expect(authorityExcess({ ...both.mayUse, models: [] }, most.mayUse)).toEqual([]);
      expect(authorityExcess({ ...both.mayUse, models: [] }, granted.mayUse)).toEqual([]);
      if (both.mayDelegate !== null) {
        expect(authorityExcess(both.mayDelegate, most.mayDelegate ?? most.mayUse)).toEqual([]);
      }
      for (const model of [both.model, ...both.fallbacks]) {
        expect(includes(most.mayUse.models, model)).toBe(true);
      }
      for (const amount of ["tokens", "timeMs", "depth"] as const) {
        expect(both[amount]).toBeLessThanOrEqual(most[amount]);
      }
      if (most.cost !== null)
        expect(both.cost ?? Number.POSITIVE_INFINITY).toBeLessThanOrEqual(most.cost);
      expect(both.canSpawn && !most.canSpawn).toBe(false);
    }),
    { numRuns: tried },
  );
  expect(compared).toBeGreaterThan(tried / 20);
});
