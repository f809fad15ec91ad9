import { expect, test } from "vitest";
import { redactSecrets } from "./redact-secrets.ts";

test("known secrets and what looks like a key are removed, the rest stays", () => {
  const text =
    "Incorrect key: tok-1234. Header: Bearer abc.def, key sk-ant-api03-AAAABBBBCCCC0000.";
  const safe = redactSecrets(text, ["tok-1234"]);
  expect(safe).toBe("Incorrect key: [redacted]. Header: [redacted], key [redacted].");
});

test("an empty secret removes nothing", () => {
  expect(redactSecrets("skip the tasks", ["", "a"])).toBe("skip the tasks");
});
