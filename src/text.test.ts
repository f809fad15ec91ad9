import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { openEngine, testProfile } from "./testing/engine-fixture.ts";
import { clip, firstSentence, headOf, headOfBytes, oneLine, storedLine, tailOf } from "./text.ts";

const letters = fc.string({ unit: "grapheme-composite", maxLength: 60 });
const anything = fc.oneof(letters, fc.string({ unit: "binary", maxLength: 300 }));
const length = fc.integer({ min: 0, max: 120 });
const segmenter = new Intl.Segmenter();

/** Where characters begin, by the whole text. */
function boundaries(text: string): ReadonlySet<number> {
  const found = Array.from(segmenter.segment(text), ({ index }) => index);
  return new Set([...found, text.length]);
}

describe("a text that is cut", () => {
  it("is its own beginning or end, no longer than asked, and splits no character", () => {
    fc.assert(
      fc.property(anything, length, (text, most) => {
        const [head, tail] = [headOf(text, most), tailOf(text, most)];
        expect(text.startsWith(head)).toBe(true);
        expect(text.endsWith(tail)).toBe(true);
        expect(Math.max(head.length, tail.length)).toBeLessThanOrEqual(most);
        expect(boundaries(text)).toContain(head.length);
        expect(boundaries(text)).toContain(text.length - tail.length);
        expect(head.isWellFormed() || !text.isWellFormed()).toBe(true);
      }),
    );
  });

  it("loses no more than one character to the cut", () => {
    fc.assert(
      fc.property(letters, length, (text, most) => {
        const next = [...boundaries(text)].find((at) => at > headOf(text, most).length);
        if (text.length > most) expect(next).toBeGreaterThan(most);
        else expect(headOf(text, most)).toBe(text);
      }),
    );
  });

  it("ends in an ellipsis that counts", () => {
    expect(clip("a long title", 7)).toBe("a long…");
    expect(clip("short", 5)).toBe("short");
    expect(clip("family: 👨‍👩‍👧‍👦!", 12)).toBe("family: …");
    expect(clip("e\u0301e\u0301", 3)).toBe("e\u0301…");
    expect(clip("x", 0)).toBe("…");
  });

  it("is cut between code points where one character never ends, and however long it is", () => {
    const endless = `a${"\u0301".repeat(5000)}`;
    expect(headOf(endless, 1000)).toHaveLength(1000);
    const family = "👩‍".repeat(3000);
    expect(headOf(family, 1000).isWellFormed()).toBe(true);
    expect(tailOf(family, 1000).isWellFormed()).toBe(true);
  });

  it("has at most so many bytes, all of whole code points", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 80 }), length, (text, most) => {
        const head = headOfBytes(text, most);
        expect(text.startsWith(head)).toBe(true);
        expect(head.isWellFormed()).toBe(true);
        const [next = ""] = text.slice(head.length);
        expect(Buffer.byteLength(head)).toBeLessThanOrEqual(most);
        if (next !== "") {
          const more = String.fromCodePoint(text.codePointAt(head.length) ?? 0);
          expect(Buffer.byteLength(head + more)).toBeGreaterThan(most);
        }
      }),
    );
  });
});

it("one line has no breaks, and what is stored no half of a character", () => {
  expect(oneLine(" a\r\n\tb\u2028c ")).toBe("a b c");
  expect(storedLine(`a\u001b[31m ${"😀".repeat(50)}`, 20)).toMatch(/^a 😀+…$/u);
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), length, (text, most) => {
      expect(storedLine(text, most + 1).isWellFormed()).toBe(true);
      expect(storedLine(text, most + 1).length).toBeLessThanOrEqual(most + 1);
    }),
  );
});

it("a task of 78 letters and an emoji leaves no half of it in title, contract or log", async () => {
  const half = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;
  await using mandate = await openEngine({
    profiles: [testProfile("agent", { tools: [] })],
    model: () => "done",
  });
  const task = `${"a".repeat(78)}😀 and more of it`;
  const { delegationId, events, runId } = await mandate.run({ task, profile: "agent" });
  const contract = await mandate.store.readContract(delegationId);
  expect(contract.step.title).toBe(`${"a".repeat(78)}…`);
  const state = await mandate.store.readRun(runId);
  const all = JSON.stringify([contract, events, [...(state?.delegations.values() ?? [])]]);
  expect(all).not.toMatch(half);
  expect(all).not.toMatch(/\\ud[89a-f]/);
});

it.each([
  ["You review code. Be brief.", "You review code."],
  ["You review code", "You review code"],
  ["# Reviewer\n\nYou review v1.2 of it! Now.", "You review v1.2 of it!"],
  ["# Only a heading", "Only a heading"],
  ["<role>\n**You** are `it`.\n</role>", "You are it."],
  ["---\n\n- First point", "First point"],
  ["", ""],
  ["---\n***\n", ""],
])("of %j the first sentence is %j", (prompt, sentence) => {
  expect(firstSentence(prompt)).toBe(sentence);
});

it("the first sentence is at most 200 characters, and whole ones", () => {
  expect(firstSentence("x".repeat(500))).toHaveLength(200);
  expect(firstSentence(`${"x".repeat(199)}👩`).isWellFormed()).toBe(true);
});
