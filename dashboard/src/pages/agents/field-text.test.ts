import { expect, it } from "vitest";
import { fieldText, trustCommand } from "./field-text.ts";

it("writes a field as somebody would", () => {
  const values = ["text", 3, true, null, [], ["a", "b"], { a: 1 }, [["x"], { b: null }]];
  expect(values.map(fieldText)).toEqual([
    "text",
    "3",
    "true",
    "–",
    "none",
    "a, b",
    '{"a":1}',
    'x, {"b":null}',
  ]);
});

it("never shows a command that does something else when it is pasted", () => {
  expect(trustCommand("reviewer-2")).toBe("mandate profiles trust reviewer-2");
  for (const name of ["x; rm -rf /", "$(id)", "`id`", "a\nb", "--all", "", "a b", "a'b"]) {
    expect(trustCommand(name)).toBe("mandate profiles trust");
  }
});
