/**
 * The test table and the error table of the spawn design, row by row and under its words. How each
 * tool behaves beyond that is in spawn.test.ts and spawn-await.test.ts.
 */
import { describe, expect, it } from "vitest";
import { spawnProfilesBlock } from "../../agents/profiles/spawn-profiles-block.ts";
import { defaultConfig } from "../../control/config.ts";
import type { Script } from "../../models/scripted/scripted-model.ts";
import { ofType, openEngine, recording, testProfile } from "../../testing/engine-fixture.ts";

const spawning = ["spawn", "spawn_await"];
const lead = testProfile("lead", {
  tools: spawning,
  mayDelegate: { tools: ["shell", "read_file", "write_file", "list_files", ...spawning] },
});

/** As the design writes it: `tools.spawn.profiles`. */
const configured = {
  tools: { ...defaultConfig.tools, spawn: { ...defaultConfig.tools.spawn, enabled: true } },
  profiles: [
    {
      name: "researcher",
      origin: "mandate.yaml:5",
      fields: {
        description: "Research specialist.",
        prompt: "Focus on academic sources.",
        tools: ["read_file", "list_files"],
      },
      replaces: true,
    },
  ],
};

interface Answered {
  readonly said: readonly string[];
  readonly isError: readonly boolean[];
}

/** A lead that makes one call a turn, each made of what it was told before. */
async function talk(
  turns: readonly ((said: readonly string[]) => { tool: string; input: object })[],
  child: Script = () => "found it",
): Promise<Answered & { seen: ReturnType<typeof recording>["seen"]; events: number }> {
  const { seen, model } = recording((request) => {
    if (request.caller.depth > 0) return child(request);
    const said = request.messages.flatMap((each) => (each.role === "tool" ? each.text : []));
    const turn = turns[request.caller.turn - 1];
    return turn === undefined ? "done" : { calls: [turn(said)] };
  });
  await using mandate = await openEngine({ profiles: [lead], model, config: configured });
  const { events } = await mandate.run({ task: "go", profile: "lead" });
  const last = seen.findLast(({ caller }) => caller.depth === 0)?.messages ?? [];
  const answers = last.filter((each) => each.role === "tool");
  return {
    said: answers.map(({ text }) => text),
    isError: answers.map(({ isError }) => isError),
    seen,
    events: ofType(events, "agent.subagent_created").length,
  };
}

const spawn = (input: object) => () => ({ tool: "spawn", input });
const slow: Script = ({ caller }) => ({ text: `result of ${caller.task}`, latency_ms: 60 });

describe("test table of the spawn design", () => {
  it("spawn returns job_id immediately (non-blocking)", async () => {
    const { said, isError } = await talk([spawn({ task: "long" })], slow);
    expect(said[0]).toMatch(/^[0-9a-f]{6,}$/);
    expect(isError).toEqual([false]);
  });

  it('spawn_await with job_ids="*" waits for all (wildcard await)', async () => {
    const { said } = await talk(
      [
        spawn({ task: "one" }),
        spawn({ task: "two" }),
        () => ({ tool: "spawn_await", input: { job_ids: "*" } }),
      ],
      slow,
    );
    const [first, second, all] = said;
    expect(all).toBe(`[${first}: OK]\nresult of one\n\n[${second}: OK]\nresult of two`);
  });

  it('spawn_await with job_ids="id1,id2" waits for a subset (partial await)', async () => {
    const { said } = await talk(
      [
        spawn({ task: "one" }),
        spawn({ task: "two" }),
        spawn({ task: "three" }),
        ([one, , three]) => ({ tool: "spawn_await", input: { job_ids: `${three},${one}` } }),
      ],
      slow,
    );
    const [one, , three, some] = said;
    expect(some).toBe(`[${three}: OK]\nresult of three\n\n[${one}: OK]\nresult of one`);
  });

  it("sub-agent error is [job_id: ERROR] in the content (error embedding)", async () => {
    const { said, isError } = await talk(
      [spawn({ task: "x" }), ([id]) => ({ tool: "spawn_await", input: { job_ids: id ?? "" } })],
      () => ({ fault: "unauthorized" }),
    );
    expect(said[1]).toMatch(new RegExp(`^\\[${said[0]}: ERROR\\]\\n.+`));
    expect(isError[1]).toBe(false);
  });

  it("spawn with a valid profile has the correct system_prompt and tools (profile resolution)", async () => {
    const { seen } = await talk([
      spawn({ task: "x", profile: "researcher", system_prompt: "Be brief." }),
    ]);
    const child = seen.find(({ caller }) => caller.depth === 1);
    expect(child?.system).toBe("Be brief.");
    expect(child?.tools.map(({ name }) => name)).toEqual(["read_file", "list_files"]);
    const plain = await talk([spawn({ task: "x", profile: "researcher" })]);
    const other = plain.seen.find(({ caller }) => caller.depth === 1);
    expect(other?.system).toBe("Focus on academic sources.");
  });

  it("spawn with an unknown profile is an error (error handling)", async () => {
    const { said, isError, events } = await talk([spawn({ task: "x", profile: "nobody" })]);
    expect(said[0]).toMatch(/^Error: unknown profile 'nobody' Known: /);
    expect([isError[0], events]).toEqual([true, 1]);
  });

  it("spawn with an empty task is an error (validation)", async () => {
    const { said, isError, events } = await talk([spawn({ task: "" })]);
    expect([said[0], isError[0], events]).toEqual(["Error: task is required", true, 1]);
  });

  it("a sub-agent excludes the spawn tools, whatever is asked for (nesting prevention)", async () => {
    const { seen } = await talk([
      spawn({ task: "x" }),
      spawn({ task: "y", tools: "spawn,spawn_await,read_file" }),
    ]);
    for (const { caller, tools } of seen) {
      if (caller.depth === 0) continue;
      for (const { name } of tools) expect(spawning).not.toContain(name);
    }
  });

  it("the spawn tool definition has an enum of the known profiles (discoverability)", async () => {
    const { seen } = await talk([]);
    const tool = seen[0]?.tools.find(({ name }) => name === "spawn");
    expect(tool?.parameters["properties"]).toMatchObject({
      profile: { enum: expect.arrayContaining(["lead", "researcher"]) },
    });
  });

  it("profile injection in the system prompt when profiles exist (discoverability)", async () => {
    const { seen } = await talk([]);
    expect(seen[0]?.system).toContain("<available_spawn_profiles>\n");
    expect(seen[0]?.system).toContain(
      '\n  <profile name="researcher">Research specialist. Tools: read_file, list_files.</profile>\n',
    );
    expect(seen[0]?.system).toMatch(/\n<\/available_spawn_profiles>$/);
  });

  it("no profile injection when no profiles are configured (token efficiency)", () => {
    expect(spawnProfilesBlock([])).toBe("");
  });
});

describe("error table of the spawn design", () => {
  it.each([[{}], [{ task: "" }], [{ task: "  " }]])(
    "task missing or empty, as in %j: an error at once",
    async (input) => {
      const { said, isError } = await talk([spawn(input)]);
      expect([said[0], isError[0]]).toEqual(["Error: task is required", true]);
    },
  );

  it("unknown profile name: an error at once", async () => {
    const { isError, events } = await talk([spawn({ task: "x", profile: "Researcher" })]);
    expect([isError[0], events]).toEqual([true, 1]);
  });

  it.each([
    ["sub-agent LLM error", (() => ({ fault: "unauthorized" })) as Script],
    [
      "sub-agent exception",
      (() => {
        throw new Error("the model's own code broke");
      }) as Script,
    ],
  ])("%s: [job_id: ERROR] and the message in the spawn_await result", async (_row, child) => {
    const { said, isError } = await talk(
      [spawn({ task: "x" }), () => ({ tool: "spawn_await", input: { job_ids: "*" } })],
      child,
    );
    expect(said[1]).toMatch(new RegExp(`^\\[${said[0]}: ERROR\\]\\n\\S.+`));
    expect(isError).toEqual([false, false]);
  });

  it("unknown job_id in spawn_await: [job_id: NOT FOUND] in the result", async () => {
    const await_ = { tool: "spawn_await", input: { job_ids: "abcdef, a3f9c1" } };
    const { said, isError } = await talk([() => await_]);
    expect(said[0]).toBe("[abcdef: NOT FOUND]\n\n[a3f9c1: NOT FOUND]");
    expect(isError).toEqual([false]);
  });

  it('spawn_await with no jobs matching "*": a single line', async () => {
    const { said } = await talk([() => ({ tool: "spawn_await", input: { job_ids: "*" } })]);
    expect(said).toEqual(["No jobs found."]);
  });
});
