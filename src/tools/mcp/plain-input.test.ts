import { expect, it } from "vitest";
import { plainInput } from "./mcp-servers.ts";

const refusal = (input: unknown) => plainInput.safeParse(input).error?.issues[0]?.message;

it("takes any plain object as it is", () => {
  const input = { a: [1, { b: null }], c: "x" };
  expect(plainInput.parse(input)).toBe(input);
  expect(plainInput.parse({})).toEqual({});
});

it("refuses what is no object, too large, too deep or poisoned, and says which", () => {
  let deep: unknown = 1;
  for (let depth = 0; depth < 100_000; depth++) deep = [deep];
  expect(refusal([1])).toBe("The input is not an object.");
  expect(refusal("x")).toBe("The input is not an object.");
  expect(refusal(null)).toBe("The input is not an object.");
  expect(refusal({ deep })).toBe("The input is nested deeper than 32 levels.");
  expect(refusal({ a: "x".repeat(2_000_000) })).toBe("The input is larger than 1048576 bytes.");
  expect(refusal(JSON.parse('{"a":{"__proto__":1}}'))).toBe('The input has a key "__proto__".');
});
