/**
 * One delegation, from task to sealed result. It runs on a scripted model, so it needs no key; with
 * ANTHROPIC_API_KEY set, leave `scripted` out and the shipped profiles answer for real.
 */
import { createMandate } from "mandate";
import { scriptedModel } from "mandate/testing";

const mandate = await createMandate({
  database: ":memory:",
  scripted: scriptedModel(({ caller }) => `The ${caller.profile} has read: ${caller.task}`),
});

const result = await mandate.delegate({
  profile: "summarizer",
  task: "Say in one sentence what a mandate is.",
  maxTokens: 20_000,
});

console.log(result.status, "·", result.result);
console.log("sealed:", result.evidence.turns, "turn,", result.tokenUsage.prompt, "tokens in");

const report = await mandate.verify();
await mandate.close();
if (result.status !== "completed" || !report.ok) process.exitCode = 1;
