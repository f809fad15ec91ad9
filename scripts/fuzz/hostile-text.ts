import fc, { type Arbitrary } from "fast-check";

/** Characters and words that readers have stumbled over. */
export const nastyPieces: readonly string[] = [
  ...[
    "\0",
    "\t",
    "\n",
    "\r",
    "\r\n",
    "\u000b",
    "\u001b[2J",
    "\u001b]0;x\u0007",
    "\u007f",
    "\u009b",
  ],
  ...["\u00a0", "\u00ad", "\u200b", "\u200e", "\u202e", "\u2028", "\u2029", "\u2066", "\ufeff"],
  ...["\ud800", "\udc00", "\ufffd", "\uffff", "\u{1f600}", "\u{e0041}", "e\u0301", "ﬁ", "ı", "İ"],
  ...["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "null", "undefined"],
  ...["true", "no", "~", "NaN", "Infinity", "1e999", "-0", "9007199254740993", "0x10", "1_000"],
  ...[
    "'",
    '"',
    "`",
    "\\",
    "/",
    "..",
    "../",
    "$(id)",
    "$\u007bx}",
    "%s",
    "%00",
    "<script>",
    "-->",
    "]]>",
  ],
  ...["---", "...", "#", "!!js/function", "&a", "*a", "<<", ": ", "- ", "? ", "|", ">", "@", "!"],
  ...["{", "}", "[", "]", "(", ")", ",", ";", "=", "+", "*", "?", "&", "^", "-", "--", "-rf"],
];

export const nastyText: Arbitrary<string> = fc.oneof(
  fc.array(fc.constantFrom(...nastyPieces), { maxLength: 12 }).map((pieces) => pieces.join("")),
  fc
    .array(fc.oneof(fc.constantFrom(...nastyPieces), fc.string({ maxLength: 8 })), { maxLength: 8 })
    .map((pieces) => pieces.join("")),
  fc.string({ unit: "binary", maxLength: 60 }),
);

/** Long enough for whatever grows faster than its input, and seldom. */
export const longText: Arbitrary<string> = fc
  .tuple(fc.constantFrom(...nastyPieces, "a", " ", "ab", "a ", "[[", "{{"), fc.nat({ max: 60_000 }))
  .map(([piece, times]) => piece.repeat(Math.ceil(times / piece.length)));

/** Any data that JSON can carry, with keys that programs have of their own. */
export const nastyJson: Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constantFrom(null, true, false, 0, -0, -1, 1.5, 1e308, 2 ** 53 + 2, "", "*", [], {}),
    nastyText,
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.array(tie("value"), { maxLength: 4 }),
    fc
      .array(
        fc.tuple(
          fc.oneof(fc.constantFrom(...nastyPieces), fc.string({ maxLength: 6 })),
          tie("value"),
        ),
        { maxLength: 4 },
      )
      // As a parser makes it: `__proto__` becomes a key like any other.
      .map((entries) => Object.fromEntries(entries)),
  ),
})).value;
