import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cases } from "../testing/cases.test-support.ts";
import { type Authority, authorityExcess, intersectAuthority } from "./authority.ts";
import { difference, includes, intersect, isSubset, type Selection } from "./selection.ts";

const names = ["a", "b", "c"];
const selection: fc.Arbitrary<Selection> = fc.oneof(
  fc.constant("*" as const),
  fc.subarray(names),
  fc.array(fc.constantFrom(...names, "*", ""), { maxLength: 4 }),
);
const authority: fc.Arbitrary<Authority> = fc.record({
  tools: selection,
  skills: selection,
  mcp_servers: selection,
  models: selection,
  scopes: selection,
  write_roots: fc.subarray(["/", "/w", "/w/a", "/x"]),
  network: selection,
});

const noAuthority: Authority = {
  tools: [],
  skills: [],
  mcp_servers: [],
  models: [],
  scopes: [],
  write_roots: [],
  network: [],
};

describe("a selection", () => {
  it("intersects to what both include", () => {
    fc.assert(
      fc.property(
        selection,
        selection,
        fc.constantFrom(...names, "z", "*"),
        (left, right, name) => {
          const both = intersect(left, right);
          expect(includes(both, name)).toBe(includes(left, name) && includes(right, name));
          expect(isSubset(both, left) && isSubset(both, right)).toBe(true);
        },
      ),
    );
  });

  it("knows all tools of a server by one pattern, and nothing else by any", () => {
    expect(includes(["mcp__docs__*"], "mcp__docs__search")).toBe(true);
    expect(includes(["mcp__docs__*"], "mcp__docsx__search")).toBe(false);
    expect(includes(["mcp__*"], "mcp__docs__*")).toBe(true);
    expect(includes(["read*", "*_file"], "read_file")).toBe(false);
    expect(intersect(["mcp__docs__*"], ["mcp__docs__a", "read_file"])).toEqual(["mcp__docs__a"]);
    expect(intersect(["mcp__docs__a", "x"], ["mcp__*"])).toEqual(["mcp__docs__a"]);
    expect(difference(["mcp__docs__a"], ["mcp__docs__*"])).toEqual([]);
  });

  it("is all only as the word, never as a name in a list", () => {
    expect(includes("*", "anything")).toBe(true);
    expect(includes(["*"], "anything")).toBe(false);
    expect(isSubset("*", ["*"])).toBe(false);
    expect(isSubset([], [])).toBe(true);
  });

  it("tells what of a request did not survive", () => {
    expect(difference(["a", "b"], ["b"])).toEqual(["a"]);
    expect(difference(["a"], [])).toEqual(["a"]);
    expect(difference(["a"], "*")).toEqual([]);
  });
});

describe("an authority", () => {
  it("intersected with another exceeds neither", () => {
    fc.assert(
      fc.property(authority, authority, (left, right) => {
        const both = intersectAuthority(left, right);
        expect(authorityExcess(both, left)).toEqual([]);
        expect(authorityExcess(both, right)).toEqual([]);
      }),
      { numRuns: cases(2000) },
    );
  });

  it("exceeds another in exactly the fields in which it holds more", () => {
    const wide: Record<Exclude<keyof Authority, "rules">, Selection> = {
      tools: ["t"],
      skills: "*",
      mcp_servers: ["m"],
      models: "*",
      scopes: ["s"],
      write_roots: ["/"],
      network: ["n"],
      ways_out: ["w"],
    };
    for (const field of Object.keys(wide) as (keyof typeof wide)[]) {
      const one = { ...noAuthority, [field]: wide[field] };
      expect(authorityExcess(one, noAuthority)).toEqual([field]);
      expect(authorityExcess(noAuthority, one)).toEqual([]);
      expect(authorityExcess(one, one)).toEqual([]);
    }
  });

  it("that is bound by fewer rules holds more", () => {
    const bound = { ...noAuthority, rules: [[{ tool: "shell", action: "deny" as const }]] };
    expect(authorityExcess(noAuthority, bound)).toEqual(["rules"]);
    expect(authorityExcess(bound, noAuthority)).toEqual([]);
    expect(intersectAuthority(noAuthority, bound).rules).toEqual(bound.rules);
    expect(intersectAuthority(bound, bound).rules).toEqual(bound.rules);
  });
});
