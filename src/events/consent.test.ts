import fc from "fast-check";
import { expect, it } from "vitest";
import { consentIn } from "./consent.ts";

it.each(["yes", "Y", " ok. ", "Approved!", "allow"])("hears a yes in %j", (answer) => {
  expect(consentIn(answer)).toBe("yes");
});

it.each([
  "no",
  "N",
  "No.",
  "refuse",
  "no, because it is late",
  "No: too wide",
  "no - not now",
  "no because I say so",
  "no\nToo wide.",
])("hears a no in %j", (answer) => {
  expect(consentIn(answer)).toBe("no");
});

it.each([
  "",
  "maybe",
  "yes, but smaller",
  "yes no",
  "no problem",
  "nobody",
  "not yet",
  "okay then",
])("hears neither in %j", (answer) => {
  expect(consentIn(answer)).toBeUndefined();
});

it("hears a yes in nothing that says more than that", () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1 }), (more) => {
      fc.pre(/[\p{L}\p{N}]/u.test(more));
      expect(consentIn(`yes ${more}`)).toBeUndefined();
    }),
  );
});
