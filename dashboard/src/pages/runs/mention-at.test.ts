import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { mentionAt, withMention } from "./mention-at.ts";

describe("mentionAt", () => {
  it("is what was typed after an @ that begins a word", () => {
    expect(mentionAt("Look at @src/ti", 15)).toEqual({ from: 8, to: 15, wanted: "src/ti" });
    expect(mentionAt("@", 1)).toEqual({ from: 0, to: 1, wanted: "" });
    expect(mentionAt("(@a and more", 3)).toEqual({ from: 1, to: 3, wanted: "a" });
    expect(mentionAt('Read @"my fi', 12)).toEqual({ from: 5, to: 12, wanted: "my fi" });
    expect(mentionAt('Read @"my @x', 12)).toEqual({ from: 10, to: 12, wanted: "x" });
  });

  it("is nothing in an address of mail, after a space, or elsewhere", () => {
    for (const text of ["ann@harbour", "@src/tides.ts ", "no mention", "", "a\n@b\n"]) {
      expect(mentionAt(text, text.length), text).toBeNull();
    }
  });

  it("is made of whatever path into a text that mentions nothing more", () => {
    const path = fc.stringMatching(/^[a-z .()/]{1,20}$/);
    fc.assert(
      fc.property(
        fc.string({ maxLength: 20 }),
        path,
        fc.string({ maxLength: 20 }),
        (head, to, tail) => {
          const begun = `${head} @x`;
          const mention = mentionAt(begun + tail, begun.length);
          if (mention === null) throw new Error("it mentions something");
          const { caret, text } = withMention(begun + tail, mention, to);
          expect(text.startsWith(`${head} @`)).toBe(true);
          expect(text.slice(0, caret)).toContain(to);
          expect(mentionAt(text, caret)).toBeNull();
        },
      ),
    );
  });
});
