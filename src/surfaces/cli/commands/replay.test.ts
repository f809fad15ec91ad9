import { afterAll, beforeAll, expect, test } from "vitest";
import { until as untilTrue } from "../../../testing/until.ts";
import { Desk } from "../desk.test-support.ts";

const calls = Array.from(
  { length: 30 },
  (_each, index) =>
    `{ tool: delegate_task, input: { profile: summarizer, task: "Part ${index}" } }`,
);
const playbook = `
version: 1
replies:
  - { when: { profile: general, turn: 1 }, calls: [${calls.join(", ")}] }
  - { when: { profile: general }, text: "Done." }
  - { text: "My part." }
`;

let desk: Desk;

beforeAll(async () => {
  desk = new Desk();
  desk.write("book.yaml", playbook);
  await desk.type(["run", "--playbook", "book.yaml", "The", "job"]);
});

afterAll(() => desk.clear());

test("a run of thirty children is replayed from its log, and is the same", async () => {
  const { code, err, out } = await desk.type(["replay"]);
  expect({ code, err }).toEqual({ code: 0, err: "" });
  expect(out).toMatch(/replayed: \d+ events, 31 delegations: the same/);
});

test("two runs are held against each other, and where they part is told in words", async () => {
  desk.write("other.yaml", playbook.replace("My part.", "Another part."));
  await desk.type(["run", "--playbook", "other.yaml", "The", "job"]);
  const runs = JSON.parse((await desk.type(["ls", "--json"])).out) as { id: string }[];
  const [one = "", other = ""] = runs.map(({ id }) => id);
  const same = await desk.type(["replay", one, "--compare", one, "--json"]);
  expect(same.code).toBe(0);
  expect(JSON.parse(same.out)).toMatchObject({ isSame: true, differences: [] });
  const different = await desk.type(["replay", one, "--compare", other]);
  expect(different.code).toBe(1);
  expect(different.out).toMatch(/differences?, r\w+ and r\w+ compared/);
});

test("a run that was cancelled in the runtime's own words is the same", async () => {
  desk.write(
    "slow.yaml",
    playbook.replace('{ text: "My part." }', "{ latency_ms: 600000, text: late }"),
  );
  const typing = desk.start(["run", "--playbook", "slow.yaml", "The", "job"]);
  const open = async () => JSON.parse((await desk.type(["ls", "--open", "--json"])).out);
  const { id } = await untilTrue("all are at work", async () =>
    (await open()).find(({ delegations }: { delegations: number }) => delegations === 31),
  );
  const reason = "Its caller was cancelled.";
  expect((await desk.type(["cancel", id, "--reason", reason])).code).toBe(0);
  await typing.done;
  expect((await desk.type(["logs", id])).out).toContain(`cancelled: ${reason}`);
  expect((await desk.type(["replay", id])).out).toMatch(/31 delegations: the same/);
});

test("a run that does not exist is a usage error", async () => {
  const { code, err } = await desk.type(["replay", "r000000"]);
  expect(code).not.toBe(0);
  expect(err).toContain("r000000");
});
