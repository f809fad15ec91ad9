/**
 * Delegation tools inside an agent of the AI SDK. The agent is yours; what it delegates runs under a
 * contract, in a log, with one final state each.
 */
import { generateText, stepCountIs, type ToolSet } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { createMandate } from "mandate";
import { scriptedModel } from "mandate/testing";

const mandate = await createMandate({
  database: ":memory:",
  scripted: scriptedModel(({ caller }) => `Findings on: ${caller.task}`),
});
const delegation = await mandate.tools({ client: "my-agent" });

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

// In place of a real model: it delegates once and then repeats what came back.
const model = new MockLanguageModelV4({
  doGenerate: async ({ prompt }) => {
    const last = prompt.at(-1);
    if (last?.role === "tool") {
      const text = JSON.stringify(last.content);
      return {
        content: [{ type: "text", text }],
        finishReason: { unified: "stop", raw: "stop" },
        usage,
        warnings: [],
      };
    }
    const input = JSON.stringify({ profile: "researcher", task: "tide tables" });
    return {
      content: [{ type: "tool-call", toolCallId: "1", toolName: "delegate_task", input }],
      finishReason: { unified: "tool-calls", raw: "tool-calls" },
      usage,
      warnings: [],
    };
  },
});

const { text } = await generateText({
  model,
  prompt: "Look into tide tables.",
  tools: delegation.tools as ToolSet,
  stopWhen: stepCountIs(3),
});

await delegation.close();
const report = await mandate.verify();
await mandate.close();
console.log(text.includes("Findings on: tide tables") ? "the findings came back" : text);
if (!text.includes("Findings on: tide tables") || !report.ok) process.exitCode = 1;
