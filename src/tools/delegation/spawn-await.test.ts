import { describe, expect, it } from "vitest";
import type { Script } from "../../models/scripted/scripted-model.ts";
import type { Message, ModelRequest } from "../../ports/model.ts";
import {
  type EngineOptions,
  ofType,
  openEngine,
  recording,
  testProfile,
} from "../../testing/engine-fixture.ts";

const profiles = [
  testProfile("lead", { tools: ["spawn", "spawn_await", "delegate_task"] }),
  testProfile("worker", { tools: [] }),
];

/** The first turn spawns a job for each task; `then` says what follows, turn by turn. */
function leadAfter(tasks: readonly string[], ...then: ((ids: string[]) => object)[]): Script {
  return (request) => {
    if (request.caller.depth > 0) return child(request);
    const { turn } = request.caller;
    if (turn === 1) {
      const calls = tasks.map((task) => ({ tool: "spawn", input: { task, profile: "worker" } }));
      return calls.length === 0 ? { text: "none", calls: [awaiting({ job_ids: "*" })] } : { calls };
    }
    const next = then[turn - 2];
    return next === undefined ? "done" : { calls: [awaiting(next(jobsIn(request.messages)))] };
  };
}

function child({ caller }: ModelRequest) {
  if (caller.task.startsWith("fail")) return { fault: "rejected" as const };
  if (caller.task.startsWith("slow")) return { text: `did ${caller.task}`, latency_ms: 60 };
  return { text: `did ${caller.task}` };
}

const awaiting = (input: object) => ({ tool: "spawn_await", input });

function jobsIn(messages: readonly Message[]): string[] {
  return messages.flatMap((message) =>
    message.role === "tool" && message.tool === "spawn" ? message.text : [],
  );
}

/** The results of the spawn_await calls, in order, and the ids of the jobs. */
async function resultsOf(script: Script, options: Pick<EngineOptions, "middleware"> = {}) {
  const { seen, model } = recording(script);
  await using mandate = await openEngine({ profiles, model, ...options });
  const { events, result } = await mandate.run({ task: "go", profile: "lead" });
  const messages = seen.filter(({ caller }) => caller.depth === 0).at(-1)?.messages ?? [];
  const awaited = messages.filter(
    (message) => message.role === "tool" && message.tool === "spawn_await",
  ) as Extract<Message, { role: "tool" }>[];
  return { ids: jobsIn(messages), awaited, events, result };
}

describe("spawn_await", () => {
  it("waits for the jobs it is given and returns their blocks in the order asked", async () => {
    const script = leadAfter(["slow a", "b", "c"], ([a, b]) => ({ job_ids: `${b}, ${a}` }));
    const { ids, awaited } = await resultsOf(script);
    expect(awaited).toMatchObject([
      { text: `[${ids[1]}: OK]\ndid b\n\n[${ids[0]}: OK]\ndid slow a`, isError: false },
    ]);
  });

  it("marks a failed job in the text and is no error itself", async () => {
    const script = leadAfter(["fail a", "b"], () => ({ job_ids: "*" }));
    const { ids, awaited, result } = await resultsOf(script);
    const [failed = "", fine] = awaited[0]?.text.split("\n\n") ?? [];
    expect(failed).toMatch(new RegExp(`^\\[${ids[0]}: ERROR\\]\n.*scripted to fail`));
    expect(fine).toBe(`[${ids[1]}: OK]\ndid b`);
    expect(awaited[0]?.isError).toBe(false);
    expect(result.status).toBe("completed");
  });

  it("marks a job whose code threw with what was thrown, and is no error itself", async () => {
    const script = leadAfter(["throw a", "b"], () => ({ job_ids: "*" }));
    const throwing: Script = (request) => {
      if (request.caller.task === "throw a") throw new Error("the wheel came off");
      return script(request);
    };
    const middleware: EngineOptions["middleware"] = [
      {
        delegation({ contract }, next) {
          if (contract.step.title === "throw a") throw new Error("the wheel came off");
          return next();
        },
      },
    ];
    for (const outcome of [await resultsOf(throwing), await resultsOf(script, { middleware })]) {
      const [failed, fine] = outcome.awaited[0]?.text.split("\n\n") ?? [];
      expect(failed).toMatch(new RegExp(`^\\[${outcome.ids[0]}: ERROR\\]\n.*the wheel came off`));
      expect(fine).toBe(`[${outcome.ids[1]}: OK]\ndid b`);
      expect(outcome.awaited[0]?.isError).toBe(false);
      expect(outcome.result.status).toBe("completed");
    }
  });

  it("shows a model that job_ids, a string, must be given", async () => {
    const { seen, model } = recording(() => "done");
    await using mandate = await openEngine({ profiles, model });
    await mandate.run({ task: "go", profile: "lead" });
    const tool = seen[0]?.tools.find(({ name }) => name === "spawn_await");
    expect(tool?.parameters["required"]).toEqual(["job_ids"]);
    expect(tool?.parameters["properties"]).toMatchObject({ job_ids: { type: "string" } });
  });

  it("takes * for the jobs not awaited yet, and results stay retrievable", async () => {
    const script = leadAfter(
      ["a", "b", "c"],
      ([a]) => ({ job_ids: String(a) }),
      () => ({ job_ids: "*" }),
      () => ({ job_ids: "*" }),
      (ids) => ({ job_ids: ids.join(",") }),
    );
    const { ids, awaited } = await resultsOf(script);
    const [a, b, c] = ids.map((id, index) => `[${id}: OK]\ndid ${"abc"[index]}`);
    expect(awaited.map(({ text }) => text)).toEqual([
      a,
      `${b}\n\n${c}`,
      "No jobs found.",
      `${a}\n\n${b}\n\n${c}`,
    ]);
  });

  it("says No jobs found. when there are none", async () => {
    const { awaited } = await resultsOf(leadAfter([]));
    expect(awaited).toMatchObject([{ text: "No jobs found.", isError: false }]);
  });

  it.each([{}, { job_ids: "" }, { job_ids: "  " }, { max_wait_ms: 5 }])(
    "answers %j with the error that job_ids is required",
    async (input) => {
      const { awaited } = await resultsOf(leadAfter(["a"], () => input));
      expect(awaited).toMatchObject([{ text: "Error: job_ids is required", isError: true }]);
    },
  );

  it("says NOT FOUND of what it does not know, beside what it knows", async () => {
    const script = leadAfter(["a"], ([a]) => ({ job_ids: `ffffff,${a}, no such job` }));
    const { ids, awaited } = await resultsOf(script);
    expect(awaited).toMatchObject([
      {
        text: `[ffffff: NOT FOUND]\n\n[${ids[0]}: OK]\ndid a\n\n[no such job: NOT FOUND]`,
        isError: false,
      },
    ]);
  });

  it("says RUNNING after max_wait_ms, which does not count as awaited", async () => {
    const script = leadAfter(
      ["slow a", "b"],
      () => ({ job_ids: "*", max_wait_ms: 15 }),
      () => ({ job_ids: "*" }),
      () => ({ job_ids: "*" }),
    );
    const { ids, awaited } = await resultsOf(script);
    expect(awaited.map(({ text }) => text)).toEqual([
      `[${ids[0]}: RUNNING] Call spawn_await again to wait for it.\n\n[${ids[1]}: OK]\ndid b`,
      `[${ids[0]}: OK]\ndid slow a`,
      "No jobs found.",
    ]);
  });

  it("is told of jobs that were spawned in the same turn", async () => {
    const script: Script = ({ caller }) => {
      if (caller.depth > 0) return "did it";
      if (caller.turn > 1) return "done";
      return {
        calls: [
          { tool: "spawn", input: { task: "a", profile: "worker" } },
          awaiting({ job_ids: "*" }),
        ],
      };
    };
    const { ids, awaited } = await resultsOf(script);
    expect(awaited[0]?.text).toBe(`[${ids[0]}: OK]\ndid it`);
  });

  it("does not take a delegate_task of the same turn for a job", async () => {
    const script: Script = ({ caller }) => {
      if (caller.depth > 0) return { text: `did ${caller.task}`, latency_ms: 5 };
      if (caller.turn > 1) return "done";
      return {
        calls: [
          { tool: "spawn", input: { task: "a", profile: "worker" } },
          { tool: "delegate_task", input: { profile: "worker", task: "b" } },
          awaiting({ job_ids: "*" }),
        ],
      };
    };
    const { ids, awaited } = await resultsOf(script);
    expect(awaited[0]?.text).toBe(`[${ids[0]}: OK]\ndid a`);
  });

  it("never shows a stranger's job, not even to one who knows its id", async () => {
    const ids: string[] = [];
    const { seen, model } = recording(({ caller, messages }) => {
      if (caller.depth > 0) return { text: "a secret", latency_ms: 5 };
      if (caller.task === "theirs") {
        if (caller.turn === 1)
          return { calls: [{ tool: "spawn", input: { task: "x", profile: "worker" } }] };
        if (caller.turn === 2) ids.push(...jobsIn(messages));
        return caller.turn === 2 ? { calls: [awaiting({ job_ids: "*" })] } : "done";
      }
      if (caller.turn === 1) return { calls: [awaiting({ job_ids: "*" })] };
      return caller.turn === 2 ? { calls: [awaiting({ job_ids: ids.join(",") })] } : "done";
    });
    await using mandate = await openEngine({ profiles, model });
    await mandate.run({ task: "theirs", profile: "lead" });
    await mandate.run({ task: "mine", profile: "lead" });
    const texts = seen
      .at(-1)
      ?.messages.flatMap((message) => (message.role === "tool" ? message.text : []));
    expect(ids).toHaveLength(1);
    expect(texts).toEqual(["No jobs found.", `[${ids[0]}: NOT FOUND]`]);
  });

  it("counts results that it handed over as delivered, with the call that brought them", async () => {
    const { ids, events } = await resultsOf(leadAfter(["a", "fail b"], () => ({ job_ids: "*" })));
    const completed = ofType(events, "agent.tool_completed").find(
      ({ payload }) => payload.tool === "spawn_await",
    );
    expect(completed?.payload.delivered).toEqual(ids);
    expect(ofType(events, "run.finished")[0]?.payload.outcome).toBe("succeeded");
  });
});
