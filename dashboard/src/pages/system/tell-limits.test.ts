import { describe, expect, it } from "vitest";
import { tellLimits } from "./tell-limits.ts";

describe("tellLimits", () => {
  it("names the limits that there are", () => {
    expect(tellLimits({ all: null, worker: null, tenant: null })).toBe("no limit");
    expect(tellLimits({ all: null, worker: 10, tenant: null })).toBe(
      "10 per worker, at each depth",
    );
    expect(tellLimits({ all: 200, worker: 10, tenant: 20 })).toBe(
      "200 in all, 10 per worker, 20 per tenant, at each depth",
    );
  });
});
