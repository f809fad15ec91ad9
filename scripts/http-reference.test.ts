import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { httpReference, referenceFile } from "./http-reference.ts";

test("the reference of the HTTP API says what the routes say", () => {
  // Otherwise: node scripts/http-reference.ts
  expect(readFileSync(referenceFile, "utf8")).toBe(httpReference());
});
