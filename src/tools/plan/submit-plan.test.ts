import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Script } from "../../models/scripted/scripted-model.ts";
import {
  type EngineOptions,
  type FinishedRun,
  ofType,
  openEngine,
  recording,
  type TestEngine,
  testProfile,
} from "../../testing/engine-fixture.ts";
import { git, initRepository } from "../../testing/git-workspace.test-support.ts";
import { until } from "../../testing/until.ts";

const profiles = [
  testProfile("lead", {
    capabilities: ["orchestrator", "primary"],
    tools: ["submit_plan"],
    mayDelegate: { tools: ["read_file", "write_file", "list_files"] },
  }),
  testProfile("worker", { tools: ["list_files"] }),
  testProfile("writer", { tools: ["write_file"] }),
  testProfile("reviewer", { tools: ["read_file"], workspace: { allowWrites: false } }),
  testProfile("looker", { capabilities: ["watcher"], tools: [] }),
];

interface Step {
  readonly [field: string]: unknown;
}

const step = (id: string, fields: Step = {}): Step => ({
  id,
  title: `Do ${id}`,
  description: id,
  profile: "worker",
  ...fields,
});

/** The lead submits these plans, turn by turn, and says what came of the last one. */
function leadWith(plans: readonly unknown[], worker: Script = ({ caller }) => caller.task): Script {
  return (request) => {
    const { caller, messages } = request;
    if (caller.profile !== "lead") return worker(request);
    const input = plans[caller.turn - 1];
    if (input === undefined) return messages.at(-1)?.text ?? "";
    return { calls: [{ tool: "submit_plan", input: input as Record<string, unknown> }] };
  };
}

async function open(options: EngineOptions): Promise<TestEngine> {
  return openEngine({ profiles, ...options });
}

const outcomeOf = ({ events }: Pick<FinishedRun, "events">) =>
  ofType(events, "run.finished")[0]?.payload;

const childrenOf = ({ events }: Pick<FinishedRun, "events">) =>
  ofType(events, "agent.subagent_created").slice(1);

/** When a child of this title began and ended, by sequence number. */
function spanOf({ events }: Pick<FinishedRun, "events">, title: string): [number, number] {
  const created = childrenOf({ events }).find(({ payload }) => payload.title === title);
  const [closed] = ofType(events, "agent.subagent_closed", created?.sub_agent_id);
  if (created === undefined || closed === undefined) throw new Error(`there is no child ${title}`);
  return [created.seq, closed.seq];
}

describe("submit_plan", () => {
  it("runs the steps over their dependencies and reports on each", async () => {
    const { model, seen } = recording(
      leadWith([
        {
          goal: "a login page",
          steps: [
            step("form", { depends_on: ["schema", "Do style"], success_criteria: ["it posts"] }),
            step("schema"),
            step("style"),
          ],
        },
      ]),
    );
    await using mandate = await open({ model });
    const run = await mandate.run({ task: "go", profile: "lead" });
    expect(run.result.result).toMatch(
      /^Plan completed: all 3 steps\.\n\n\[form: COMPLETED\] Do form/,
    );
    expect(outcomeOf(run)).toMatchObject({ outcome: "succeeded" });
    for (const before of ["Do schema", "Do style"]) {
      expect(spanOf(run, before)[1]).toBeLessThan(spanOf(run, "Do form")[0]);
    }
    const [planned] = ofType(run.events, "run.planned");
    expect(planned?.payload).toMatchObject({
      by: run.delegationId,
      steps: [
        { key: "form", title: "Do form", profile: "worker", depends_on: ["schema", "style"] },
        { key: "schema" },
        { key: "style" },
      ],
    });
    const calls = childrenOf(run).map(({ payload }) => payload.call_id);
    const call = planned?.payload.call_id;
    expect(calls).toEqual([`${call}/schema`, `${call}/style`, `${call}/form`]);
    const opening = seen.find(({ caller }) => caller.task === "form")?.messages[0]?.text;
    expect(opening).toContain("Goal of the whole plan: a login page");
    expect(opening).toContain('Result of step "schema" (Do schema), by worker:\nschema');
    expect(opening).toContain("- it posts");
  });

  it("hands no more of an earlier result on than fits, and says where the rest is kept", async () => {
    const { model, seen } = recording(
      leadWith([{ steps: [step("long"), step("next", { depends_on: ["long"] })] }], ({ caller }) =>
        caller.task === "long" ? "x".repeat(100_000) : "done",
      ),
    );
    await using mandate = await open({ model });
    const { events } = await mandate.run({ task: "go", profile: "lead" });
    const opening = seen.find(({ caller }) => caller.task === "next")?.messages[0]?.text ?? "";
    const hash = ofType(events, "agent.subagent_waiting_for_merge")[0]?.payload.output_hash;
    expect(opening.length).toBeLessThan(26_000);
    expect(opening).toContain(`[… 100000 bytes in all, kept as ${hash}]`);
  });

  it("merges what side by side steps made, each in what it owns", async () => {
    const model = leadWith(
      [
        {
          steps: [
            step("a", { profile: "writer", owns: ["a.txt"] }),
            step("b", { profile: "writer", owns: ["b.txt"] }),
          ],
        },
      ],
      ({ caller }) =>
        caller.turn > 1
          ? "written"
          : {
              latency_ms: caller.task === "a" ? 60 : 0,
              calls: [
                { tool: "write_file", input: { path: `${caller.task}.txt`, content: caller.task } },
              ],
            },
    );
    await using mandate = await open({ model });
    const { workspace } = mandate;
    initRepository(workspace, { "a.txt": "old\n" });
    const run = await mandate.run({ task: "go", profile: "lead", workspace });
    expect(outcomeOf(run)).toMatchObject({ outcome: "succeeded" });
    expect(readFileSync(join(workspace, "a.txt"), "utf8")).toBe("a");
    expect(readFileSync(join(workspace, "b.txt"), "utf8")).toBe("b");
    expect(spanOf(run, "Do b")[0]).toBeLessThan(spanOf(run, "Do a")[1]);
    expect(git(workspace, "status", "--porcelain", "a.txt", "b.txt")).toBe(" M a.txt\n?? b.txt");
  });

  it("lets steps of one file follow each other, and each sees what the one before did", async () => {
    const model = leadWith(
      [
        {
          steps: ["1", "2", "3"].map((name) =>
            step(`s${name}`, { profile: "writer", owns: ["n"] }),
          ),
        },
      ],
      ({ caller }) =>
        caller.turn > 1
          ? "written"
          : { calls: [{ tool: "write_file", input: { path: "n", content: caller.task } }] },
    );
    await using mandate = await open({ model });
    initRepository(mandate.workspace, { n: "0" });
    const { workspace } = mandate;
    const run = await mandate.run({ task: "go", profile: "lead", workspace });
    expect(outcomeOf(run)).toMatchObject({ outcome: "succeeded" });
    expect(readFileSync(join(workspace, "n"), "utf8")).toBe("s3");
    expect(spanOf(run, "Do s1")[1]).toBeLessThan(spanOf(run, "Do s2")[0]);
    expect(spanOf(run, "Do s2")[1]).toBeLessThan(spanOf(run, "Do s3")[0]);
  });

  it("refuses a step a change of what it does not own, which has not failed by that", async () => {
    const model = leadWith(
      [{ steps: [step("a", { profile: "writer", owns: ["a/**"] })] }],
      ({ caller }) =>
        caller.turn > 1
          ? "written"
          : { calls: [{ tool: "write_file", input: { path: "b.txt", content: "b" } }] },
    );
    await using mandate = await open({ model });
    initRepository(mandate.workspace, { "a/x": "x" });
    const { workspace } = mandate;
    const run = await mandate.run({ task: "go", profile: "lead", workspace });
    expect(ofType(run.events, "agent.tool_denied")[0]?.payload.rule).toBe("path_not_owned");
    expect(existsSync(join(workspace, "b.txt"))).toBe(false);
    expect(outcomeOf(run)).toMatchObject({ outcome: "succeeded" });
  });

  it("gives a failed step to another child, as often as the step says", async () => {
    let failures = 2;
    const model = leadWith([{ steps: [step("a", { retries: 2 })] }], () =>
      failures-- > 0 ? { text: "x", served: "other/model" } : "at last",
    );
    await using mandate = await open({ model });
    const run = await mandate.run({ task: "go", profile: "lead" });
    const keys = childrenOf(run).map(({ payload }) => payload.call_id?.split("/")[1]);
    expect(keys).toEqual(["a", "a-2", "a-3"]);
    expect(outcomeOf(run)).toMatchObject({ outcome: "succeeded" });
    const [completed] = ofType(run.events, "agent.tool_completed", run.delegationId);
    expect(completed?.payload.delivered).toHaveLength(3);
  });

  it.each([
    ["fail", ["one", "two"]],
    ["continue", ["one", "two", "four"]],
  ])("after a failure with on_failure %s, these were started: %j", async (on_failure, started) => {
    const model = leadWith(
      [
        {
          steps: [
            step("one", { on_failure }),
            step("two"),
            step("three", { depends_on: ["one"] }),
            step("four", { depends_on: ["two"] }),
          ],
        },
      ],
      ({ caller }) =>
        caller.task === "one"
          ? { text: "x", served: "other/model" }
          : { text: "done", latency_ms: 30 },
    );
    await using mandate = await open({ model });
    const run = await mandate.run({ task: "go", profile: "lead" });
    expect(childrenOf(run).map(({ payload }) => payload.title)).toEqual(
      started.map((name) => `Do ${name}`),
    );
    expect(run.result.result).toMatch(/\[one: FAILED\] Do one \(worker, \w+\)\nmodel_mismatch: /);
    expect(run.result.result).toContain(
      "[three: NOT STARTED] Do three (worker): it depends on one, which was not completed.",
    );
    expect(run.result.result).toMatch(/Submit another one for what is left/);
    expect(outcomeOf(run)).toMatchObject({ outcome: "failed" });
  });

  it("lets a later plan supersede the one that failed", async () => {
    const plans = [
      { steps: [step("bad"), step("rest", { depends_on: ["bad"] })] },
      { steps: [step("good")] },
    ];
    const model = leadWith(plans, ({ caller }) =>
      caller.task === "bad" ? { text: "x", served: "other/model" } : "done",
    );
    await using mandate = await open({ model });
    const run = await mandate.run({ task: "go", profile: "lead" });
    expect(ofType(run.events, "run.planned")).toHaveLength(2);
    expect(outcomeOf(run)).toMatchObject({ outcome: "succeeded" });
  });

  it("has a step judged by a reviewer, who is told what was asked, done and changed", async () => {
    const { model, seen } = recording(
      leadWith(
        [
          {
            steps: [
              step("a", {
                profile: "writer",
                owns: ["a.txt"],
                review: true,
                success_criteria: ["a.txt says a"],
              }),
              step("b", { depends_on: ["a"] }),
            ],
          },
        ],
        ({ caller }) => {
          if (caller.profile === "reviewer") return "It can stay.";
          if (caller.profile === "worker" || caller.turn > 1) return "a is written";
          const input = { path: "a.txt", content: "a" };
          return { calls: [{ tool: "write_file", input }] };
        },
      ),
    );
    await using mandate = await open({ model });
    initRepository(mandate.workspace, { "a.txt": "old\n" });
    const { workspace } = mandate;
    const run = await mandate.run({ task: "go", profile: "lead", workspace });
    const asked = seen.find(({ caller }) => caller.profile === "reviewer")?.messages[0]?.text;
    expect(asked).toContain("- a.txt says a");
    expect(asked).toContain("Files it changed: a.txt");
    expect(asked).toContain("a claim to be checked:\na is written");
    expect(run.result.result).toMatch(
      /\[a: COMPLETED\].*\na is written\nReview \(reviewer, \w+\): It can stay\./,
    );
    const next = seen.find(({ caller }) => caller.task === "b")?.messages[0]?.text;
    expect(next).toContain("Its review, by reviewer:\nIt can stay.");
    expect(outcomeOf(run)).toMatchObject({ outcome: "succeeded" });
  });

  it("says so when there could be no review, and the step stands", async () => {
    const model = leadWith([{ steps: [step("a", { review: true })] }], ({ caller }) =>
      caller.profile === "reviewer" ? { text: "x", served: "other/model" } : "done",
    );
    await using mandate = await open({ model });
    const run = await mandate.run({ task: "go", profile: "lead" });
    expect(run.result.result).toMatch(/Review failed \(reviewer, \w+\): The contract pins/);
    expect(outcomeOf(run)).toMatchObject({ outcome: "succeeded" });
  });

  it.each([
    ["no", "the plan was not approved, and nothing was started. The person says: no"],
    ["No, because it is too large.", "The person says: No, because it is too large."],
  ])("begins nothing when a person answers %j", async (answer, told) => {
    await using mandate = await open({
      model: leadWith([{ approval: true, goal: "g", steps: [step("a")] }]),
    });
    const questions: string[] = [];
    mandate.store.subscribe((events) => {
      for (const event of events) {
        if (event.type !== "agent.asked") continue;
        questions.push(event.payload.question);
        void mandate.engine.answer(event.payload.ask_id, answer);
      }
    });
    const run = await mandate.run({ task: "go", profile: "lead" });
    expect(questions).toEqual([
      "May this plan begin? (yes or no)\nGoal: g\n1. a: Do a [worker]\n   a",
    ]);
    expect(run.result.result).toContain(told);
    expect(childrenOf(run)).toEqual([]);
    expect(ofType(run.events, "run.planned")).toEqual([]);
  });

  it("asks with a text in which no goal and no title passes for a step or a change", async () => {
    const forged = "g\n1. a: harmless [worker]\r\ndiff --git a/x b/x\n@@ -1 +1 @@";
    const hostile = { ...step("a"), title: forged, description: forged };
    await using mandate = await open({
      model: leadWith([{ approval: true, goal: forged, steps: [hostile] }]),
    });
    const questions: string[] = [];
    mandate.store.subscribe((events) => {
      for (const event of events) {
        if (event.type !== "agent.asked") continue;
        questions.push(event.payload.question);
        void mandate.engine.answer(event.payload.ask_id, "no");
      }
    });
    await mandate.run({ task: "go", profile: "lead" });
    const lines = questions[0]?.split("\n").filter((line) => !line.startsWith("   "));
    expect(lines).toEqual(["May this plan begin? (yes or no)", "Goal: g", "1. a: g"]);
  });

  it("asks for an approval, and goes on asking at a word that is neither yes nor no", async () => {
    await using mandate = await open({ model: leadWith([{ approval: true, steps: [step("a")] }]) });
    const { result, runId } = await mandate.start({ task: "go", profile: "lead" });
    const asks = async () => ofType(await mandate.events(runId), "agent.asked");
    await until("it asks", async () => (await asks()).length === 1);
    const [asked] = await asks();
    expect(asked?.payload).toMatchObject({ kind: "approval", default: null });
    for (const answer of ["maybe", "yes, but smaller", "not yet"]) {
      const answering = mandate.engine.answer(asked?.payload.ask_id ?? "", answer);
      await expect(answering).rejects.toMatchObject({
        code: "usage",
        message: expect.stringContaining('Answer yes or no; a no may give a reason: "no,'),
      });
    }
    expect(await mandate.engine.answer(asked?.payload.ask_id ?? "", "yes")).toBe(true);
    expect((await result).status).toBe("completed");
    expect(childrenOf({ events: await mandate.events(runId) })).toHaveLength(1);
  });

  it("asks each of its two questions once, also when its process died after both answers", async () => {
    const toolRules = [{ tool: "submit_plan", action: "ask" }] as const;
    const [lead, ...others] = profiles;
    const asking = [{ ...lead, toolRules } as (typeof profiles)[number], ...others];
    let isStuck = true;
    const model = leadWith([{ approval: true, steps: [step("a")] }], ({ caller }) =>
      isStuck ? { fault: "hang" } : caller.task,
    );
    await using mandate = await openEngine({ profiles: asking, model });
    mandate.store.subscribe((events) => {
      for (const event of events) {
        if (event.type === "agent.asked") void mandate.engine.answer(event.payload.ask_id, "yes");
      }
    });
    const { runId } = await mandate.start({ task: "go", profile: "lead" });
    const begun = async () => ofType(await mandate.events(runId), "agent.subagent_started").length;
    await until("the step has begun", async () => (await begun()) === 2);
    mandate.abandon();
    isStuck = false;
    await using second = await mandate.another({ profiles: asking, model });
    const [taken] = await second.engine.recover();
    expect((await taken?.result)?.status).toBe("completed");
    const asks = ofType(await second.events(runId), "agent.asked");
    expect(asks.map(({ payload }) => payload.kind)).toEqual(["approval", "approval"]);
  });

  it("begins when a person approves, and not because a default answers", async () => {
    const model = leadWith([{ approval: true, steps: [step("a")] }]);
    await using mandate = await open({ model });
    mandate.store.subscribe((events) => {
      for (const event of events) {
        if (event.type === "agent.asked") void mandate.engine.answer(event.payload.ask_id, "Yes.");
      }
    });
    const run = await mandate.run({ task: "go", profile: "lead" });
    expect(childrenOf(run)).toHaveLength(1);
    await using headless = await open({ model, limits: { askDefault: "yes", askDeadlineMs: 5 } });
    const other = await headless.run({ task: "go", profile: "lead" });
    expect(other.result.result).toMatch(/no person approved the plan in time/);
    expect(childrenOf(other)).toEqual([]);
  });

  it("tells everything that is wrong with a plan at once, and makes no child", async () => {
    const plan = {
      steps: [
        step("a", { depends_on: ["b", "a"] }),
        step("b", { depends_on: ["a", "schema"] }),
        step("c", { profile: "nobody" }),
        step("d", { profile: "looker", review: { profile: "wroker" } }),
      ],
    };
    await using mandate = await open({ model: leadWith([plan]) });
    const run = await mandate.run({ task: "go", profile: "lead" });
    expect(run.result.result.split("\n")).toEqual([
      "Error: nothing was started, since the plan cannot be carried out.",
      'Step 1 ("a") depends on itself. Take "a" out of its depends_on.',
      "Steps wait for each other in a circle, each for the next: a → b → a. Take one of these dependencies out.",
      'Step 2 ("b") depends on "schema", which is no step of this plan. Name a step by its id: a, b, c, d.',
      expect.stringMatching(
        /^Step 3 \("c"\) is for "nobody", which is no profile\. There are: .*worker, writer\.$/,
      ),
      'Step 4 ("d") is for "looker", which cannot do it: it is a profile for watcher agents only.',
      'Step 4 ("d") is to be reviewed by "wroker", which is no profile. Did you mean worker?',
      "Fix that and submit it again.",
    ]);
    expect(childrenOf(run)).toEqual([]);
    expect(ofType(run.events, "run.planned")).toEqual([]);
  });

  it("is refused to who is no orchestrator, and where no level is left", async () => {
    const helper = testProfile("helper", { capabilities: ["primary", "subtask"], tools: "*" });
    const model: Script = ({ caller, messages }) =>
      caller.turn === 1
        ? { calls: [{ tool: "submit_plan", input: { steps: [step("a")] } }] }
        : (messages.at(-1)?.text ?? "");
    await using mandate = await open({ model, profiles: [...profiles, helper] });
    const run = await mandate.run({ task: "go", profile: "helper" });
    expect(ofType(run.events, "agent.tool_denied")[0]?.payload.rule).toBe("tool_not_granted");
    expect(childrenOf(run)).toEqual([]);
    const flat = mandate.run({ task: "go", profile: "lead", maxDepth: 0 });
    await expect(flat).rejects.toThrow(/submit_plan/);
  });

  it("asks no more of a run than it may have delegations", async () => {
    const steps = Array.from({ length: 200 }, (_, index) => step(`s${index}`));
    await using mandate = await open({ model: leadWith([{ steps }]) });
    const run = await mandate.run({ task: "go", profile: "lead" });
    expect(run.result.result).toMatch(/The plan needs 200 delegations, and a run may have 200/);
    expect(childrenOf(run)).toEqual([]);
  });

  it("tells of very many steps no more than fits, what failed first", async () => {
    const steps = Array.from({ length: 190 }, (_, index) => {
      return step(`s${index}`, { on_failure: "continue", title: "x".repeat(150) });
    });
    const model = leadWith([{ steps }], ({ caller }) =>
      caller.task === "s77" ? { text: "x", served: "other/model" } : "y".repeat(5000),
    );
    const limits = { joinTokens: 2000, maxOutputTokens: 2000 };
    await using mandate = await open({ model, limits, maxConcurrent: 50 });
    const run = await mandate.run({ task: "go", profile: "lead", maxTokens: 900_000 });
    const [sentence, , ...lines] = run.result.result.split("\n");
    expect(sentence).toBe("Steps of the plan that were not completed: s77.");
    expect(lines[0]).toBe("Plan failed: 189 of 190 steps completed, 1 failed, 0 not started.");
    expect(lines[1]).toMatch(/^\[s77: FAILED\] x+… \(worker, \w+\)$/);
    expect(lines.at(-2)).toMatch(/^… and \d+ more steps\.$/);
    expect(run.result.result.length).toBeLessThan(7000);
  });

  it("passes the rules about whom it delegates to, reviewers among them", async () => {
    const [lead, ...others] = profiles;
    const toolRules = [
      { tool: "submit_plan", match: "writer", action: "deny" as const },
      { tool: "submit_plan", match: "reviewer", action: "deny" as const },
    ];
    const bound = testProfile("lead", { ...lead, toolRules });
    const plans = [
      { steps: [step("a"), step("b", { profile: "writer" })] },
      { steps: [step("a", { review: true })] },
      { steps: [step("a")] },
    ];
    await using mandate = await open({ model: leadWith(plans), profiles: [bound, ...others] });
    const run = await mandate.run({ task: "go", profile: "lead" });
    const denied = ofType(run.events, "agent.tool_denied").map(({ payload }) => payload.rule);
    expect(denied).toEqual(["tool_rule", "tool_rule"]);
    expect(childrenOf(run)).toHaveLength(1);
  });

  it("takes a stored plan by its hash, and nothing else that is stored", async () => {
    await using mandate = await open({ model: ({ caller }) => caller.task });
    const keep = (text: string) => mandate.store.keepArtifact(text);
    const runStored = async (hash: string) =>
      (await mandate.run({ task: "go", context: `plan ${hash}`, profile: "plan-runner" })).result;
    const { hash } = await keep(JSON.stringify({ steps: [step("a")] }));
    expect(await runStored(hash)).toMatchObject({ status: "completed" });
    for (const text of ['"secret"', "secret {", '{"secret":1}']) {
      const { closeReason, result, status } = await runStored((await keep(text)).hash);
      expect([status, closeReason]).toEqual(["failed", "invalid_model_output"]);
      expect(result).toMatch(/^The plan was not run\. Error: /);
    }
    const missing = await runStored("f".repeat(64));
    expect(missing.result).toContain(`there is no stored plan ${"f".repeat(64)}`);
  });

  it("begins nothing more when it is cancelled", async () => {
    const model = leadWith(
      [{ steps: [step("a"), step("b", { depends_on: ["a"] })] }],
      ({ caller }) => (caller.depth > 0 ? { fault: "stall" } : "done"),
    );
    await using mandate = await open({ model });
    const { runId, result } = await mandate.start({ task: "go", profile: "lead" });
    await until("the first step has begun", async () => {
      return ofType(await mandate.events(runId), "agent.subagent_started").length === 2;
    });
    await mandate.engine.cancel(runId, "enough");
    expect((await result).status).toBe("cancelled");
    // What the plan still had to do would have been done before a whole other run.
    await mandate.run({ task: "another", profile: "worker" });
    expect(childrenOf({ events: await mandate.events(runId) })).toHaveLength(1);
  });
});
