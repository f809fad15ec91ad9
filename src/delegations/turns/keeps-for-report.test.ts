import { describe, expect, it } from "vitest";
import type { StoredEvent } from "../../events/event.ts";
import type { Script } from "../../models/scripted/scripted-model.ts";
import type { ModelRequest } from "../../ports/model.ts";
import {
  type EngineOptions,
  ofType,
  openEngine,
  recording,
  testProfile,
} from "../../testing/engine-fixture.ts";

const leading = ["delegate_task", "spawn", "spawn_await"];
const profiles = [
  testProfile("lead", { tools: leading, mayDelegate: { tools: [...leading, "list_files"] } }),
  testProfile("middle", { tools: leading, mayDelegate: { tools: [...leading, "list_files"] } }),
  testProfile("worker", { tools: ["list_files"] }),
];

async function run(script: Script, tokens: number, options: EngineOptions = {}) {
  const { seen, model } = recording(script);
  await using mandate = await openEngine({
    profiles,
    model,
    limits: { maxRetries: 0, maxOutputTokens: 8000 },
    maxConcurrent: 8,
    ...options,
  });
  const { workspace } = mandate;
  const request = { task: "go", profile: "lead", workspace, maxTokens: tokens };
  const { events, result } = await mandate.run({ ...request, budgetTokens: tokens });
  return { events, result, seen };
}

const delegate = (index: number, profile = "worker", maxTokens = 60_000) => ({
  tool: "delegate_task",
  input: { profile, task: `part ${index}`, maxTokens },
});

/** What the tool calls of the latest turn brought into the prompt. */
function resultsIn({ messages }: ModelRequest): readonly string[] {
  const last = messages.findLastIndex(({ role }) => role === "assistant");
  return messages.slice(last + 1).map(({ text }) => text);
}

/** Uses all that it is allowed to, turn after turn. */
const greedy: Script = ({ caller, maxOutputTokens, tools }) => {
  const usage = { prompt: 2000 + 1000 * caller.turn, completion: maxOutputTokens };
  if (tools.length === 0) return { text: "the best so far", usage };
  const calls = [{ tool: "list_files", input: { limit: caller.turn } }];
  return { text: `step ${caller.turn}`, calls, usage };
};

function spentIn(events: readonly StoredEvent[]): number {
  return ofType(events, "agent.budget_settled").reduce(
    (sum, { payload }) => sum + payload.prompt + payload.completion,
    0,
  );
}

describe("a parent keeps what it needs to report", () => {
  it("from six children that use up all they can", async () => {
    const { events, result, seen } = await run((request) => {
      if (request.caller.depth > 0) return greedy(request);
      if (request.caller.turn > 1) return "the parent's own answer";
      return { calls: [1, 2, 3, 4, 5, 6].map((index) => delegate(index)) };
    }, 60_000);
    expect(result).toMatchObject({ status: "completed", result: "the parent's own answer" });
    expect(resultsIn(seen.at(-1) as ModelRequest)).toHaveLength(6);
    expect(spentIn(events)).toBeGreaterThan(20_000);
  });

  it.each([60_000, 200_000])(
    "from five whose results are as large as a join allows (%i)",
    async (budget) => {
      const { result, seen } = await run((request) => {
        if (request.caller.depth > 0) return "word and ".repeat(5000);
        if (request.caller.turn > 1) return "the parent's own answer";
        return { calls: [1, 2, 3, 4, 5].map((index) => delegate(index)) };
      }, budget);
      expect(result).toMatchObject({ status: "completed", result: "the parent's own answer" });
      const results = resultsIn(seen.at(-1) as ModelRequest);
      expect(results).toHaveLength(5);
      for (const text of results) expect(text).toContain("word and word and");
    },
  );

  it("from twenty small ones, whose results it reads whole", async () => {
    const { result, seen } = await run((request) => {
      if (request.caller.depth > 0) return `done: ${request.messages[0]?.text.slice(-2)}`;
      if (request.caller.turn > 1) return "the parent's own answer";
      const calls = Array.from({ length: 20 }, (_, index) => delegate(index, "worker", 3000));
      return { calls };
    }, 80_000);
    expect(result).toMatchObject({ status: "completed", result: "the parent's own answer" });
    const results = resultsIn(seen.at(-1) as ModelRequest);
    expect(results).toHaveLength(20);
    for (const text of results) expect(text).toContain("done: ");
  });

  it("on each of three levels", async () => {
    const { result, seen } = await run((request) => {
      const { caller } = request;
      if (caller.profile === "worker") return greedy(request);
      if (caller.turn > 1) return `${caller.profile} answers`;
      const below = caller.profile === "lead" ? "middle" : "worker";
      return { calls: [1, 2, 3].map((index) => delegate(index, below)) };
    }, 150_000);
    expect(result).toMatchObject({ status: "completed", result: "lead answers" });
    const results = resultsIn(seen.at(-1) as ModelRequest);
    expect(results).toHaveLength(3);
    for (const text of results) expect(text).toContain("middle answers");
  });

  it("from background children whose results it reads later", async () => {
    const { result, seen } = await run((request) => {
      const { caller } = request;
      if (caller.depth > 0) return greedy(request);
      const job = (index: number) => ({
        tool: "spawn",
        input: { task: `part ${index}`, profile: "worker" },
      });
      if (caller.turn === 1) return { calls: [1, 2, 3, 4].map(job) };
      if (caller.turn === 2) return { calls: [{ tool: "spawn_await", input: { job_ids: "*" } }] };
      return "the parent's own answer";
    }, 80_000);
    expect(result).toMatchObject({ status: "completed", result: "the parent's own answer" });
    const [text = ""] = resultsIn(seen.at(-1) as ModelRequest);
    expect(text.match(/: OK\]|: ERROR\]/g)).toHaveLength(4);
  });

  it("and refuses a child, with its figure, where nothing is left beside that", async () => {
    const budget = 14_000;
    const { events, result, seen } = await run((request) => {
      if (request.caller.depth > 0) return "done";
      if (request.caller.turn > 1) return "the parent's own answer";
      return { calls: Array.from({ length: 20 }, (_, index) => delegate(index)) };
    }, budget);
    expect(result).toMatchObject({ status: "completed", result: "the parent's own answer" });
    const created = ofType(events, "agent.subagent_created").length - 1;
    expect(created).toBeGreaterThan(0);
    const results = resultsIn(seen.at(-1) as ModelRequest);
    expect(results.filter((text) => text.includes('"completed"'))).toHaveLength(created);
    const refused = /has room for \d+ unread results, for which it keeps \d+ tokens/;
    expect(results.filter((text) => refused.test(text))).toHaveLength(20 - created);
  });
});
