import fc from "fast-check";
import { expect, it } from "vitest";
import { sha256 } from "../../events/hash-chain.ts";
import { cases } from "../../testing/cases.test-support.ts";
import { KeptTexts } from "./append-queue.ts";

it("a text that an append references is stored when it is written, whatever was pruned", () => {
  const step = fc.oneof(
    fc.record({ what: fc.constant("refer" as const), text: fc.nat(4) }),
    fc.record({ what: fc.constant("commit" as const), most: fc.integer({ min: 1, max: 3 }) }),
    fc.record({ what: fc.constant("prune" as const) }),
    fc.record({ what: fc.constant("look" as const) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60, size: "max" }), (steps) => {
      const texts = new KeptTexts();
      const stored = new Set<string>();
      const waiting: string[] = [];
      let isUnheard = false;
      const look = (): void => {
        if (isUnheard) texts.notePruning();
        isUnheard = false;
      };
      for (const one of steps) {
        if (one.what === "refer") {
          waiting.push(texts.keep(`text ${one.text}`));
          texts.noteAppend();
        } else if (one.what === "prune") {
          // By another process, of all that was finished by then.
          stored.clear();
          isUnheard = true;
        } else if (one.what === "look") look();
        else if (waiting.length > 0) {
          look();
          const written = texts.unwritten;
          for (const [hash, body] of written) {
            expect(hash).toBe(sha256(body));
            stored.add(hash);
          }
          const group = waiting.splice(0, one.most);
          for (const hash of group) expect(stored).toContain(hash);
          texts.noteWritten(written);
          texts.noteEnds(group.length);
        }
      }
    }),
    { numRuns: cases(500) },
  );
});

it("a text without references does not come back after a pruning", () => {
  const texts = new KeptTexts();
  texts.keep("done with");
  texts.noteAppend();
  texts.noteWritten(texts.unwritten);
  texts.noteEnds(1);
  texts.keep("wanted");
  texts.noteAppend();
  texts.noteWritten(texts.unwritten);
  texts.notePruning();
  expect(texts.unwritten).toEqual([[sha256("wanted"), "wanted"]]);
});

it("what a pruning asks for again is not taken for what was written before it", () => {
  const texts = new KeptTexts();
  texts.keep("prompt");
  const written = texts.unwritten;
  texts.notePruning();
  texts.noteWritten(written);
  expect(texts.unwritten).toHaveLength(1);
});

it("remembers the texts that were used lately, and no more than some hundred", () => {
  const texts = new KeptTexts();
  const keep = (text: string): number => {
    texts.keep(text);
    const { length } = texts.unwritten;
    texts.noteWritten(texts.unwritten);
    return length;
  };
  expect(keep("often")).toBe(1);
  for (let count = 0; count < 1000; count++) {
    expect(keep(`once ${count}`)).toBe(1);
    expect(keep("often")).toBe(0);
  }
  expect(keep("once 0")).toBe(1);
});
