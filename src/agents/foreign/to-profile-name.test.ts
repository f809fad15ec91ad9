import fc from "fast-check";
import { expect, test } from "vitest";
import { profileName } from "../profiles/profile-schema.ts";
import { toProfileName } from "./to-profile-name.ts";

test.each([
  ["code-reviewer", "code-reviewer"],
  ["Code Reviewer", "code-reviewer"],
  ["powershell-5.1-expert", "powershell-5-1-expert"],
  ["snake_case", "snake_case"],
  ["🌐 Translate", "translate"],
  ["Café Müller", "cafe-muller"],
  ["cоder", "file"],
  ["日本語", "file"],
  ["", "file"],
  ["External!", "external-agent"],
  ["../../etc", "etc"],
  ["__proto__", "proto__".replace(/_+$/, "")],
])("%s becomes %s", (original, name) => {
  expect(toProfileName(original, "file")).toBe(name);
});

test("whatever the names, a profile can be called so", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }), (name, file) => {
      expect(profileName.safeParse(toProfileName(name, file)).success).toBe(true);
    }),
  );
  expect(toProfileName("x".repeat(500), "y")).toHaveLength(64);
});
