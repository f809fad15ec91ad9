import { afterAll, beforeAll, expect, test } from "vitest";
import { Desk } from "../desk.test-support.ts";

const playbook = `
version: 1
replies:
  - when: { profile: general, turn: 1, last: "Now shorter." }
    text: "Short."
  - when: { profile: general, turn: 1 }
    calls: [{ tool: delegate_task, input: { profile: summarizer, task: "Part one" } }]
  - when: { profile: general }
    text: "Long."
  - text: "My part."
`;

let desk: Desk;
let runId = "";

beforeAll(async () => {
  desk = new Desk();
  desk.write("book.yaml", playbook);
  await desk.type(["run", "--playbook", "book.yaml", "The", "job"]);
  const runs = JSON.parse((await desk.type(["ls", "--json"])).out) as { id: string }[];
  runId = runs[0]?.id ?? "";
});

afterAll(() => desk.clear());

async function eventsOf(id: string): Promise<{ run_seq: number; type: string }[]> {
  const { out } = await desk.type(["logs", id, "--json"]);
  return out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { run_seq: number; type: string });
}

test("a fork goes on from the event that it is given, with another word", async () => {
  const events = await eventsOf(runId);
  const turns = events.filter(({ type }) => type === "agent.model_turn");
  const at = String((turns.at(-1)?.run_seq ?? 0) - 1);
  const forked = await desk.type(["fork", runId, "--at", at, "--task", "Now shorter.", "--json"]);
  expect(forked.code).toBe(0);
  expect(JSON.parse(forked.out)).toMatchObject({ status: "completed", result: "Short." });
  expect(forked.err).toMatch(new RegExp(`shares 1 turn of ${runId}, up to event \\d+`));
  const verified = await desk.type(["verify"]);
  expect(verified.code).toBe(0);
  const again = await desk.type(["replay"]);
  expect(again).toMatchObject({ code: 0 });
});

test("events are named by the numbers that logs shows, in later runs too", async () => {
  await desk.type(["run", "--playbook", "book.yaml", "Another", "job"]);
  const runs = JSON.parse((await desk.type(["ls", "--json"])).out) as { id: string }[];
  const later = runs[0]?.id ?? "";
  const { out } = await desk.type(["logs", later]);
  const line = out.split("\n").find((one) => one.includes("delegate_task done")) ?? "";
  const [, number = ""] = /^ *(\d+) /.exec(line) ?? [];
  const forked = await desk.type(["fork", later, "--at", number, "--task", "Now shorter."]);
  expect(forked.err).toContain(`shares 1 turn of ${later}, up to event ${number}.`);
  expect(forked).toMatchObject({ code: 0, out: "Short.\n" });
});

test.each([
  [["fork", "r000000", "--at", "3"], "r000000"],
  [["fork", "RUN"], "needs --at EVENT"],
  [["fork", "RUN", "--at", "many"], "positive whole number"],
  [["fork", "RUN", "--at", "999999"], "has no event 999999"],
])("%o is a usage error that says what is wrong", async (words, sentence) => {
  const { code, err } = await desk.type(words.map((word) => (word === "RUN" ? runId : word)));
  expect(code).toBe(2);
  expect(err).toContain(sentence);
});
