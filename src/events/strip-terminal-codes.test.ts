import { stripVTControlCharacters } from "node:util";
import fc from "fast-check";
import { expect, test } from "vitest";
import { stripTerminalCodes } from "./strip-terminal-codes.ts";

const piece = fc.oneof(
  fc.constantFrom(
    ...["\u001b", "\u009b", "\u001b]", "\u001b[", "\u0007", "\u001b\\", "\u009c", "\\"],
    ...["\u001b]8;;http://x\u0007", "\u001b]0;t", "\u001b[31m", "\u001b[38:2:1:2:3m", "\u001b(B"],
    ...["0", "12345", ";", ":", "?", "#", "(", "m", "Q", "o", "~", "=", "a b", "\n", "漢"],
  ),
  fc.string({ maxLength: 3 }),
);

test("it leaves what the platform's own function leaves", () => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const text = pieces.join("");
      expect(stripTerminalCodes(text)).toBe(stripVTControlCharacters(text));
    }),
    { numRuns: 3000 },
  );
});

test.each([
  ["openings", "\u001b]"],
  ["openings and closings", "\u001b]\u001b]x\u0007"],
  ["codes without an end", "\u001b[1;1;1;"],
  ["brackets", "\u001b[[[[[[["],
])("%s cost no more than their length", (_what, text) => {
  const long = text.repeat(30_000);
  const began = performance.now();
  stripTerminalCodes(long);
  stripTerminalCodes(`\u001b${"[;".repeat(100_000)}`);
  stripTerminalCodes(`\u001b1${";1".repeat(100_000)} `);
  expect(performance.now() - began).toBeLessThan(250);
});
