import { expect, test } from "vitest";
import { speaksUtf8, terminalLetters } from "./style.ts";

test.each([
  [{}, true],
  [{ LANG: "de_DE.UTF-8" }, true],
  [{ LANG: "C" }, false],
  [{ LANG: "en_US.UTF-8", LC_ALL: "POSIX" }, false],
])("with %j a terminal reads UTF-8: %s", (environment, expected) => {
  expect(speaksUtf8(environment)).toBe(expected);
});

test("A terminal without UTF-8 gets no byte that it could take for an order", () => {
  const letters = terminalLetters({ LANG: "C" });
  const given = letters("Û31m 漢 é \u001b[1mbold\u001b[22m");
  expect(given).toBe("?31m ?? ? \u001b[1mbold\u001b[22m");
  for (const byte of Buffer.from(given)) expect(byte).toBeLessThan(0x80);
  expect(terminalLetters({ LANG: "C.UTF-8" })("Û")).toBe("Û");
});
