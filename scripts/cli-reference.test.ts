import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { cliReference, referenceFile } from "./cli-reference.ts";

test("the reference of the command line says what the commands say", async () => {
  const present = readFileSync(referenceFile, "utf8");
  // Otherwise: node scripts/cli-reference.ts
  expect(present).toBe(await cliReference(present));
});

test("what stands above the mark is nobody's but the writer's", async () => {
  const present = readFileSync(referenceFile, "utf8");
  const written = await cliReference(`# Mine\n\n${present.slice(present.indexOf("<!-- From"))}`);
  expect(written.startsWith("# Mine\n\n<!-- From")).toBe(true);
  await expect(cliReference("# A file without it\n")).rejects.toThrow("has lost its mark");
});
