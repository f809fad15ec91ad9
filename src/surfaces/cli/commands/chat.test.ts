import { afterEach, beforeEach, expect, test } from "vitest";
import { Desk } from "../desk.test-support.ts";

let desk: Desk;

beforeEach(() => {
  desk = new Desk();
});

afterEach(() => desk.clear());

test("Without a terminal, chat is refused and says what to use", async () => {
  const { code, err, out } = await desk.type(["chat"]);
  expect(code).toBe(2);
  expect(err).toContain("needs a terminal");
  expect(err).toContain("mandate run");
  expect(out).toBe("");
});

test("A terminal that cannot be redrawn is refused by name", async () => {
  const { code, err } = await desk.type(["chat"], {
    terminal: { columns: 80, rows: 24 },
    environment: { TERM: "dumb" },
  });
  expect(code).toBe(2);
  expect(err).toContain("TERM is dumb");
});
