import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { parseCommand } from "../../../../src/application/commands/parse-command.ts";

const source = join(import.meta.dirname, "../..");

/** Every command that a page tells people to type. */
const told = readdirSync(source, { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".tsx"))
  .flatMap((file) => [...readFileSync(join(source, file), "utf8").matchAll(/<code>(\/[^<]+)</g)])
  .map(([, command = ""]) => command);

it("are there", () => {
  expect(told.length).toBeGreaterThanOrEqual(2);
});

it.each(told)("%s can be said as it stands there", (command) => {
  expect(parseCommand(command)).not.toHaveProperty("usage");
});
