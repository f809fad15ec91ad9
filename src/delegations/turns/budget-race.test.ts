import { describe, expect, it } from "vitest";
import { type Script, scriptedModel } from "../../models/scripted/scripted-model.ts";
import { protocols } from "../../models/wire-protocols.test-support.ts";
import { sendEvents, startWireServer } from "../../models/wire-server.test-support.ts";
import type { ModelRequest } from "../../ports/model.ts";
import { ofType, openEngine, testProfile } from "../../testing/engine-fixture.ts";

const children = 50;
const mayDelegate = { tools: ["list_files"] };
const profiles = [
  testProfile("lead", { tools: ["delegate_task"], mayDelegate }),
  testProfile("greedy", { tools: ["list_files"] }),
];
const limits = {
  maxChildren: 100,
  maxOutputTokens: 600,
  maxRetries: 0,
  runTokens: 1e9,
  maxTokens: 1e9,
};
const delegations = Array.from({ length: children }, (_, index) => ({
  tool: "delegate_task",
  input: { profile: "greedy", task: `eat ${index}` },
}));

/** The most expensive provider there is: a token for every byte, and always all that was allowed. */
function costOf({ system, messages, tools, maxOutputTokens }: ModelRequest) {
  let prompt = Buffer.byteLength(system + JSON.stringify(tools));
  for (const message of messages) {
    prompt += Buffer.byteLength(message.text);
    if (message.role !== "assistant") continue;
    // What was billed as so many tokens of an answer is no more of a prompt.
    prompt += Math.min(limits.maxOutputTokens, Buffer.byteLength(JSON.stringify(message.calls)));
  }
  return { prompt, completion: maxOutputTokens };
}

async function race(budgetTokens: number) {
  let billed = 0;
  let outstanding = 0;
  let most = 0;
  await using mandate = await openEngine({
    profiles,
    maxConcurrent: children,
    limits,
    async model(request) {
      const usage = costOf(request);
      const total = usage.prompt + usage.completion;
      outstanding += total;
      most = Math.max(most, billed + outstanding);
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 4));
      outstanding -= total;
      billed += total;
      const { caller, tools } = request;
      if (caller.depth === 0 && caller.turn === 1) return { calls: delegations, usage };
      if (caller.depth === 0 || tools.length === 0) return { text: "x".repeat(200), usage };
      const calls = [{ tool: "list_files", input: { limit: caller.turn } }];
      return { text: "y".repeat(200), calls, usage };
    },
  });
  const { workspace } = mandate;
  const request = { task: "go", profile: "lead", workspace, budgetTokens, maxTokens: budgetTokens };
  const { result, events } = await mandate.run(request);
  const [row] = await mandate.store.listRuns({});
  return { result, events, billed, most, recorded: row?.tokens };
}

describe.each([20_000, 60_000, 150_000, 400_000])(
  "fifty children racing for %i tokens",
  (budget) => {
    it("never make the provider bill more than that, and all of them are closed", async () => {
      const { events, billed, most, recorded } = await race(budget);
      expect(most).toBeLessThanOrEqual(budget);
      expect(billed).toBeGreaterThan(budget / 4);
      expect(recorded).toBe(billed);
      // A child whose result its caller could not read is not begun.
      const created = ofType(events, "agent.subagent_created");
      expect(created.length).toBeGreaterThan(budget < 50_000 ? 10 : children);
      expect(ofType(events, "agent.subagent_closed")).toHaveLength(created.length);
      // What the log says, at every point of it.
      let settled = 0;
      let reserved = 0;
      for (const { type, payload } of events) {
        if (type === "agent.budget_reserved") reserved += payload.tokens;
        if (type === "agent.budget_settled") {
          reserved -= payload.reserved;
          settled += payload.prompt + payload.completion;
        }
        expect(settled + reserved).toBeLessThanOrEqual(budget);
      }
    });

    it("end with a result, or because the budget is spent, and for no other reason", async () => {
      const { result } = await race(budget);
      for (const { closeReason } of result.subDelegations ?? []) {
        expect(closeReason).toMatch(/budget_exhausted|report_accepted/);
      }
    });
  },
);

it("fifty children never overspend over the wire either, through a provider's own client", async () => {
  const model = "anthropic/claude-sonnet-4-5";
  const server = await startWireServer();
  const budgetTokens = 30_000;
  let billed = 0;
  server.answer = (response) => {
    const body = JSON.parse(server.bodies.at(-1) ?? "{}");
    const text = JSON.stringify([body.system, body.messages, body.tools]);
    // A third of the bytes, as a tokenizer has it, and every token of the answer.
    const input = Math.ceil(text.length / 3);
    const output = body.max_tokens;
    billed += input + output;
    const events = protocols[model]?.({ text: "z".repeat(100) }) ?? [];
    const counted = JSON.stringify(events)
      .replaceAll('"input_tokens":9', `"input_tokens":${input}`)
      .replaceAll('"output_tokens":3', `"output_tokens":${output}`);
    sendEvents(response, JSON.parse(counted));
  };
  const lead: Script = ({ caller }) => (caller.turn === 1 ? { calls: delegations } : "done");
  try {
    await using mandate = await openEngine({
      profiles: [
        testProfile("lead", {
          tools: ["delegate_task"],
          mayDelegate,
          model: { model: "test/lead" },
        }),
        testProfile("greedy", { tools: [], model: { model } }),
      ],
      models: { "test/lead": scriptedModel(lead) },
      environment: { ANTHROPIC_API_KEY: "key", ANTHROPIC_BASE_URL: server.url },
      maxConcurrent: children,
      limits,
    });
    const task = { task: "go", profile: "lead" };
    await mandate.run({ ...task, budgetTokens, maxTokens: budgetTokens });
    expect(server.bodies.length).toBeGreaterThan(3);
    expect(server.bodies.length).toBeLessThan(children);
    expect(billed).toBeLessThanOrEqual(budgetTokens);
  } finally {
    server.close();
  }
});
