import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Desk, until } from "../desk.test-support.ts";

const playbook = `
version: 1
replies:
  - when: { task: "fails" }
    text: "x"
    served: "other/model"
  - when: { profile: coder, turn: 1 }
    calls: [{ tool: write_file, input: { path: note.txt, content: "{{task}}" } }]
  - text: "done: {{task}}"
`;

const plan = `
goal: two notes
steps:
  - title: Look
    description: look around
    profile: researcher
  - id: note
    title: Write
    description: write it
    profile: coder
    depends_on: [Look]
  - id: again
    title: Write again
    description: write it again
    profile: coder
`;

let desk: Desk;

beforeEach(() => {
  desk = new Desk();
  desk.write("book.yaml", playbook);
  desk.write("plan.yaml", plan);
});

afterEach(() => desk.clear());

const run = (...words: string[]) => desk.type(["run", "--playbook", "book.yaml", ...words]);

test("a plan runs without a task and without a planning model, and its report is the result", async () => {
  const { code, err, out } = await run("--plan", "plan.yaml");
  expect({ code, out }).toEqual({ code: 0, out: expect.stringMatching(/^Plan completed: all 3/) });
  expect(out).toMatch(/\[step-1: COMPLETED\] Look \(researcher, \w+\)\ndone: look around/);
  expect(err).toContain("plan.yaml: 3 steps in 2 waves");
  expect(err).toContain("scripted model: not a language model (answers from book.yaml)");
  expect(readFileSync(join(desk.folder, "note.txt"), "utf8")).toBe("write it");
  const [listed] = JSON.parse((await desk.type(["ls", "--json"])).out);
  expect(listed).toMatchObject({ state: "succeeded", delegations: 4 });
  expect((await desk.type(["tree"])).out).toMatch(/plan-runner.*Look.*Write/s);
  const { violations } = JSON.parse((await desk.type(["verify", "--json"])).out);
  expect(violations).toEqual([]);
});

test("--json gives the result as for every run", async () => {
  const { code, out } = await run("--plan", "plan.yaml", "--json");
  const result = JSON.parse(out);
  expect(code).toBe(0);
  expect(result).toMatchObject({
    profile: "plan-runner",
    status: "completed",
    outcome: "succeeded",
  });
  expect(result.subDelegations).toHaveLength(3);
  expect(result.tokenUsage).toEqual({ prompt: 0, completion: 0, cost: 0 });
});

test("what a step owns is shown with its contract", async () => {
  desk.write("owning.yaml", `${plan}    owns: [note.txt, "notes/**"]\n`);
  const { out } = await run("--plan", "owning.yaml", "--json");
  const { subDelegations } = JSON.parse(out) as { subDelegations: { delegationId: string }[] };
  const shown = await Promise.all(
    subDelegations.map(async ({ delegationId: id }) => (await desk.type(["show", id])).out),
  );
  const again = shown.filter((text) => text.includes("write it again"));
  expect(again).toEqual([expect.stringMatching(/owns +note\.txt, notes\/\*\*\n/)]);
});

test("a plan that was not completed has the exit code of a failure", async () => {
  desk.write("bad.yaml", plan.replace("look around", "it fails"));
  const { code, err, out } = await run("--plan", "bad.yaml");
  expect(code).toBe(1);
  expect(out).toMatch(/^Plan failed: 1 of 3 steps completed, 1 failed, 1 not started\./);
  expect(err).toMatch(/the plan was not completed\. See mandate tree r\w+/);
  expect(err).toMatch(/run failed/);
  expect(JSON.parse((await desk.type(["ls", "--json"])).out)[0].state).toBe("failed");
});

test("a plan that was not completed reads as a failure wherever it is asked for", async () => {
  desk.write("bad.yaml", plan.replace("look around", "it fails"));
  const { code, out } = await run("--plan", "bad.yaml", "--json");
  const failed = {
    status: "failed",
    outcome: "failed",
    closeReason: "exit_rule_unmet",
    result: expect.stringMatching(
      /^Steps of the plan that were not completed: step-1, note\.\n\nPlan failed: 1 of 3/,
    ),
  };
  expect([code, JSON.parse(out)]).toEqual([1, expect.objectContaining(failed)]);
  const asked = await desk.type(["result", "--json"]);
  expect([asked.code, JSON.parse(asked.out)]).toEqual([1, expect.objectContaining(failed)]);
  const read = await desk.type(["result"]);
  expect(read).toMatchObject({ code: 1, out: "" });
  expect(read.err).toMatch(
    /^mandate: failed \(exit rule not met\): Steps of the plan that were not completed: step-1, note\.\nPlan failed: 1/,
  );
  const { violations } = JSON.parse((await desk.type(["verify", "--json"])).out);
  expect(violations).toEqual([]);
});

test("what was left of a plan is done when it is resumed, and nothing twice", async () => {
  desk.write("bad.yaml", plan.replace("write it again", "it fails"));
  expect((await run("--plan", "bad.yaml")).code).toBe(1);
  desk.write("book.yaml", playbook.replace('task: "fails"', 'task: "no longer"'));
  const [{ id }] = JSON.parse((await desk.type(["ls", "--json"])).out);
  const { code, out } = await desk.type(["resume", id, "--playbook", "book.yaml"]);
  expect([code, out]).toEqual([0, expect.stringMatching(/^Plan completed: all 3 steps/)]);
  expect(out).toMatch(/\[step-1: COMPLETED EARLIER\] Look/);
  expect(out).toMatch(/\[again: COMPLETED\] Write again/);
  const { violations } = JSON.parse((await desk.type(["verify", "--json"])).out);
  expect(violations).toEqual([]);
});

test("--dry-run shows the schedule in waves and starts nothing", async () => {
  const { code, err, out } = await run("--plan", "plan.yaml", "--dry-run");
  expect({ code, err }).toEqual({ code: 0, err: "3 steps in 2 waves. Nothing was started.\n" });
  expect(out).toBe(
    [
      "two notes",
      "1.",
      "  step-1: Look [researcher]",
      "  again: Write again [coder]",
      "2.",
      "  note: Write [coder]; after step-1",
      "",
    ].join("\n"),
  );
  const json = JSON.parse((await run("--plan", "plan.yaml", "--dry-run", "--json")).out);
  expect(json.waves.map((wave: { id: string }[]) => wave.map(({ id }) => id))).toEqual([
    ["step-1", "again"],
    ["note"],
  ]);
  expect((await desk.type(["ls"])).err).toContain("There are no runs yet");
  expect((await desk.type(["ls", "--open"])).err).toBe("No run is open.\n");
});

test("--dry-run says which steps wait for each other because of what they own", async () => {
  const step = (id: string, owns: string) =>
    `  - { id: ${id}, title: ${id}, description: ${id}, profile: coder, owns: [${owns}] }\n`;
  desk.write(
    "wide.yaml",
    `steps:\n${step("a", "src/**")}${step("b", "src/b/*")}${step("c", "docs")}`,
  );
  const { code, err, out } = await run("--plan", "wide.yaml", "--dry-run");
  expect(code).toBe(0);
  expect(out).toMatch(/1\.\n {2}a: .*\n {2}c: .*\n2\.\n {2}b: /);
  expect(err).toBe(
    "b waits for a: both could change the same paths. To run them in parallel, give each its paths in owns.\n" +
      "3 steps in 2 waves. Nothing was started.\n",
  );
  const json = JSON.parse((await run("--plan", "wide.yaml", "--dry-run", "--json")).out);
  expect(json.waits).toEqual([{ step: "b", for: "a" }]);
});

const many = (count: number, fields: (place: number) => string = () => ""): string =>
  `steps:\n${Array.from(
    { length: count },
    (_, place) =>
      `  - { id: s${place}, title: t, description: d, profile: coder${fields(place)} }\n`,
  ).join("")}`;

test.each([
  [
    "10,000 good steps",
    many(10_000),
    /^mandate: huge\.yaml:1: The plan needs 10000 delegations, and a run may have 200, with the one that runs the plan\. Cut it into coarser steps, or let the operator raise limits\.maxChildren\.\n$/,
  ],
  [
    "10,001 steps",
    many(10_001),
    /huge\.yaml:\d+: The plan has 10001 steps; 10000 are the most\. Cut it into several plans/,
  ],
  [
    "10,000 steps in a circle",
    many(10_000, (place) => `, depends_on: [s${(place + 1) % 10_000}]`),
    /Steps wait for each other in a circle, each for the next: s0 → s1 → .* → … → s0\./,
  ],
  [
    "10,000 steps that depend on nothing that there is",
    many(10_000, (place) => `, depends_on: [x${place}]`),
    /Step 1 \("s0"\) depends on "x0", which is no step of this plan\..*\n[\s\S]*… and 9981 more\n$/,
  ],
  [
    "10,000 steps of one title that depend on it",
    many(10_000, () => ", depends_on: [t]"),
    /depends on "t", which is the title of 10000 steps\. Name the id that you mean: "s0", .*, …\./,
  ],
  [
    "10,000 steps for nobody",
    many(10_000).replaceAll("coder", "codr"),
    /Step 1 \("s0"\) is for "codr", which is no profile\. Did you mean coder\?/,
  ],
])("%s are refused", async (_what, text, says) => {
  desk.write("huge.yaml", text);
  const { code, err } = await run("--plan", "huge.yaml");
  expect(code).toBe(2);
  expect(err).toMatch(says);
  expect(err.split("\n").length).toBeLessThan(30);
});

test("everything that is wrong with a plan is told with file, line and step", async () => {
  desk.write(
    "wrong.yaml",
    `goal: g
steps:
  - id: a
    title: A
    description: a
    profile: codr
    depends_on: [b]
  - id: b
    title: B
    description: b
    profile: coder
    depends_on: [a, none]
`,
  );
  const { code, err, out } = await run("--plan", "wrong.yaml");
  expect({ code, out }).toEqual({ code: 2, out: "" });
  expect(err.split("\n")).toEqual([
    'mandate: wrong.yaml:6: Step 1 ("a") is for "codr", which is no profile. Did you mean coder?',
    "wrong.yaml:7: Steps wait for each other in a circle, each for the next: a → b → a. Take one of these dependencies out.",
    'wrong.yaml:12: Step 2 ("b") depends on "none", which is no step of this plan. Name a step by its id: a, b.',
    "",
  ]);
});

test.each([
  ["nothing.yaml", undefined, /^mandate: nothing\.yaml: cannot be read: no such file or folder\n$/],
  ["empty.yaml", "", /^mandate: empty\.yaml:1: The plan: expected object, received null\.\n$/],
  ["none.yaml", "steps: []", /none\.yaml:1: The plan has no steps\./],
  ["broken.yaml", "steps: [", /broken\.yaml:\d: /],
  [
    "key.yaml",
    "steps:\n  - titel: x",
    /key\.yaml:\d: Step 1: there is no key "titel"; did you mean "title"\?/,
  ],
  [
    "owns.yaml",
    "steps:\n  - { title: x, description: x, profile: coder, owns: [../x] }",
    /owns\.yaml:2: Step 1: owns\[0\]: write a path or pattern relative to the workspace/,
  ],
  [
    "number.yaml",
    "steps:\n  - { title: x, description: x, profile: coder, depends_on: [1] }",
    /depends_on\[0\]: write the id or the title of a step; a number could be counted from 0 or 1/,
  ],
  ["binary.yaml", "\u0000", /binary\.yaml:1: the file contains a NUL byte/],
])("%s is refused, and says why", async (name, text, says) => {
  if (text !== undefined) desk.write(name, text);
  const { code, err } = await run("--plan", name);
  expect(code).toBe(2);
  expect(err).toMatch(says);
});

test.each([
  [["--plan", "plan.yaml", "a task"], /A task cannot be given beside --plan/],
  [["--plan", "plan.yaml", "-p", "coder"], /--profile cannot be given beside --plan/],
  [["--plan", "plan.yaml", "--context", "x"], /--context cannot be given beside --plan/],
  [["--dry-run", "a task"], /--dry-run shows the schedule of a plan/],
])("%j does not go together", async (words, says) => {
  const { code, err } = await run(...words);
  expect(code).toBe(2);
  expect(err).toMatch(says);
});

test("a profile of the runner's name does not get to see plans", async () => {
  const profile = "---\nname: plan-runner\ndescription: Mine.\nmodel: test/mine\n---\nHello.\n";
  mkdirSync(join(desk.folder, "profiles"));
  writeFileSync(join(desk.folder, "profiles", "plan-runner.md"), profile);
  // The project's file is not trusted, so the shipped profile runs the plan.
  expect(await run("--plan", "plan.yaml")).toMatchObject({ code: 0 });
  const own = join(desk.home, "mandate/agents");
  mkdirSync(own, { recursive: true });
  writeFileSync(join(own, "plan-runner.md"), profile);
  const { code, err } = await run("--plan", "plan.yaml");
  expect(code).toBe(2);
  expect(err).toMatch(
    /Plans are run by the shipped profile "plan-runner", and here that is another/,
  );
});

test("a person who is asked for approval decides whether it begins", async () => {
  desk.write("asking.yaml", `approval: true\n${plan}`);
  const terminal = { columns: 100, rows: 24 };
  const words = ["run", "--playbook", "book.yaml", "--plan", "asking.yaml"];
  const questions: string[] = [];
  const refused = await desk.type(words, {
    terminal,
    ask: async (question) => {
      questions.push(question);
      return "no";
    },
  });
  expect(refused.code).toBe(3);
  expect(refused.err).toContain("failed (refused by policy)");
  expect(refused.err).toContain("The plan was not run.");
  expect(refused.err).toContain("The person says: no");
  const approved = await desk.type(words, { terminal, ask: async () => "yes" });
  expect(approved.code).toBe(0);
  expect(questions).toEqual(["  yes or no: "]);
  const answers = ["maybe", "yes"];
  const unsure = await desk.type(words, { terminal, ask: async () => answers.shift() ?? "no" });
  expect(unsure.code).toBe(0);
  expect(unsure.err).toContain("Answer yes or no");
  expect(answers).toEqual([]);
});

test("an approval says that it is refused when nobody answers, and takes yes or no alone", async () => {
  desk.write("asking.yaml", `approval: true\n${plan}`);
  const words = ["run", "--playbook", "book.yaml", "--plan", "asking.yaml"];
  const late = await desk.type([...words, "--answer-within", "5ms"]);
  expect(late.code).toBe(3);
  expect(late.err).toMatch(/asks \(.* to answer, then it is refused\)/);
  const typing = desk.start(words);
  const answer = /mandate (answer q\w+) yes \(or no\)/;
  await until(() => answer.test(typing.soFar().err), "the command that answers");
  const command = answer.exec(typing.soFar().err)?.[1]?.split(" ") ?? [];
  const unclear = await desk.type([...command, "maybe"]);
  expect(unclear).toMatchObject({ code: 2, err: expect.stringContaining("Answer yes or no") });
  expect(await desk.type([...command, "no, because it is late"])).toMatchObject({ code: 0 });
  const { code, err } = await typing.done;
  expect(code).toBe(3);
  expect(err).toContain("The person says: no, because it is late");
});

test("the example plan is one", async () => {
  const example = join(import.meta.dirname, "../../../../examples/login-plan.yaml");
  const { code, err, out } = await run("--plan", example, "--dry-run");
  expect({ code, err }).toMatchObject({ code: 0 });
  expect(err).toContain("5 steps in 3 waves; a person is asked before it begins");
  expect(out).toContain("  together: Put page and session together [builder]");
});
