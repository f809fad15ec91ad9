import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Desk, until } from "../desk.test-support.ts";

let desk: Desk;

beforeEach(() => {
  desk = new Desk();
  desk.write(
    "book.yaml",
    'version: 1\nreplies: [{ when: { task: ask }, calls: [{ tool: ask_user, input: { message: "Well?" } }] }, { latency_ms: 300, text: "done" }]\n',
  );
});

afterEach(() => desk.clear());

/** Gives a scripted model prices too, so that dollars can run out. */
function setPrices(): void {
  mkdirSync(join(desk.home, "mandate"), { recursive: true });
  const prices = "models: { prices: { scripted/playbook: { input: 3, output: 15 } } }\n";
  writeFileSync(join(desk.home, "mandate/config.yaml"), prices);
}

const run = (...words: string[]) => ["run", "--playbook", "book.yaml", ...words];

test.each([
  ["--max-tokens", "100", /which may take \d+ tokens here\./, "--max-tokens NUMBER", "60000"],
  ["--max-cost", "$0.001", /A single answer may cost \$\d/, "--max-cost DOLLARS", "9.50"],
  ["--timeout", "100ms", /timed out/, "--timeout TIME", "60s"],
])("what failed of %s %s is told how to have more, and gets on with that", async (...given) => {
  const [option, tooLittle, why, hint, enough] = given;
  setPrices();
  const { code, err } = await desk.type(run(option, tooLittle, "go"));
  expect(code).toBe(1);
  expect(err).toMatch(why);
  const [, id = ""] = new RegExp(`Give it more: mandate resume ${hint} (r\\w+)\\.`).exec(err) ?? [];
  expect(err).not.toContain("Resume:");
  // As agreed then: it ends in the same way.
  expect((await desk.type(["resume", id])).err).toMatch(why);
  const resumed = await desk.type(["resume", option, enough, id]);
  expect(resumed).toMatchObject({ code: 0, out: "done\n" });
});

test("a run that has not ended goes on under its contract, whatever is said", async () => {
  const typing = desk.start(run("ask"));
  await until(() => typing.soFar().err.includes("asks"), "the question");
  typing.signal("SIGTERM");
  await typing.done;
  const { id } = JSON.parse((await desk.type(["ls", "--json"])).out)[0];
  const { code, err } = await desk.type(["resume", "--timeout", "60s", id]);
  expect({ code, err }).toMatchObject({ code: 2, err: expect.stringContaining("has not ended") });
});
