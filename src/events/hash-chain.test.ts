import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hexOf } from "../ports/identity.ts";
import { cases } from "../testing/cases.test-support.ts";
import type { NewEvent } from "./event.ts";
import { eventTypes } from "./example-events.test-support.ts";
import { canonical, genesis, link } from "./hash-chain.ts";

const anyText = fc.oneof(
  fc.string({ unit: "binary" }),
  // Halves of surrogate pairs, which are no text and come all the same.
  fc.array(fc.integer({ min: 0, max: 0xffff })).map((units) => String.fromCharCode(...units)),
  fc.constantFrom("__proto__", "constructor", "\u0000", "\u2028", '"],["', "1", "-0"),
);

const anyJson = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    anyText,
    fc.double(),
    fc.constantFrom<unknown>(-0, 1e21, 5e-324, Number.NaN, null, true, undefined),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(anyText, tie("value"), { maxKeys: 4 }),
    fc.dictionary(anyText, tie("value"), { maxKeys: 4, noNullPrototype: true }),
  ),
})).value;

const anyEvent = fc.record({
  type: fc.constantFrom(...eventTypes),
  id: fc.option(fc.integer({ min: 0, max: 2 ** 32 - 1 }).map(hexOf), { nil: undefined }),
  at: fc.integer({ min: 0, max: 2 ** 45 }),
  payload: fc.dictionary(anyText, anyJson),
});

function textOf({
  type,
  id,
  at,
  payload,
}: typeof anyEvent extends fc.Arbitrary<infer E> ? E : never): string {
  const about = id === undefined ? {} : { sub_agent_id: id };
  return canonical({ type, ...about, payload } as unknown as NewEvent, at, 'it "happened"');
}

describe("the canonical text of an event", () => {
  it("is the same again after it was stored and read", () => {
    fc.assert(
      fc.property(anyEvent, (event) => {
        const text = textOf(event);
        const [type, id, at, payload] = JSON.parse(text) as [string, string | null, number, object];
        expect(JSON.stringify(JSON.parse(text))).toBe(text);
        expect(type).toBe(event.type);
        expect(id).toBe(event.id ?? null);
        expect(at).toBe(event.at);
        expect(textOf({ ...event, payload: payload as typeof event.payload })).toBe(text);
      }),
      { numRuns: cases(2000) },
    );
  });

  it("can be sent as UTF-8 without loss", () => {
    fc.assert(
      fc.property(anyEvent, (event) => {
        const text = textOf(event);
        expect(Buffer.from(text, "utf8").toString("utf8")).toBe(text);
      }),
      { numRuns: cases(500) },
    );
  });

  it("keeps a key that is the name of a prototype", () => {
    const payload = JSON.parse('{"__proto__":{"admin":true},"a":1}') as never;
    const text = canonical({ type: "agent.paused", sub_agent_id: "c00000", payload }, 1, "rests");
    expect(text).toBe('["agent.paused","c00000",1,{"__proto__":{"admin":true},"a":1},"rests"]');
    expect(JSON.stringify(JSON.parse(text))).toBe(text);
  });
});

describe("the chain", () => {
  it("begins differently in every run, so that events cannot move between runs", () => {
    expect(genesis("r000001")).not.toBe(genesis("r000002"));
    expect(genesis("r000001")).toMatch(/^[0-9a-f]{64}$/);
  });

  it("changes with every event and with their order", () => {
    const start = genesis("r000001");
    const [ab, ba] = [link(link(start, "a"), "b"), link(link(start, "b"), "a")];
    expect(new Set([start, link(start, "a"), ab, ba]).size).toBe(4);
  });
});
