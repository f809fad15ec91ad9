import { z } from "zod";
import { noExposure } from "../../contracts/exposure.ts";
import type { ReceiptLine } from "../../contracts/receipt.ts";
import { defineTool } from "../tool.ts";
import { delegateAbout } from "./delegate-about.ts";
import { aboutTranscript, fitResult, joinedOutput } from "./fit-result.ts";
import { refusedStart } from "./refused-start.ts";

/** Delegation by handle: the registry says who that is and what may be forwarded to it. */
export const delegateToAgentTool = defineTool({
  name: "delegate_to_agent",
  description:
    "Delegate a task to a registered agent and wait for its result. The agents are listed in your " +
    "instructions; each runs on its own profile, whatever you ask for.",
  effect: "spawn",
  exposure: noExposure,
  idempotent: true,
  scopes: [],
  changes: "none",
  choosesFrom: "agents",
  waits: true,
  about: ({ agentId }, context) => delegateAbout(agentId, context),
  input: z.strictObject({
    agentId: z.string().min(1).max(64).describe("The agent's handle, such as @writer."),
    task_instructions: z
      .string()
      .min(1)
      .describe("The task. The agent sees nothing else of this conversation."),
    forward_skills: z
      .array(z.string().min(1).max(128))
      .max(100)
      .optional()
      .describe("Skills to forward, among those it may be given."),
    model_override: z
      .string()
      .min(1)
      .max(256)
      .optional()
      .describe("Another model, among those its profile allows."),
  }),
  async execute(input, { delegator }) {
    const outcome = await delegator.start(
      {
        agent: input.agentId,
        task: input.task_instructions,
        forwardSkills: input.forward_skills,
        modelOverride: input.model_override,
      },
      "delegate",
    );
    if (!outcome.started) return refusedStart(outcome);
    const { delegationId, receipt } = outcome;
    const clamped = describeClamps(receipt);
    return delegator.joinAndComplete(delegationId, (result) => {
      const output = joinedOutput(result, fitResult(result, delegator.joinTokens));
      const text = [output.text, ...aboutTranscript(result, delegator), ...clamped].join("\n\n");
      return { ...output, text };
    });
  },
});

/** What was asked for and not given, in fixed words. */
function describeClamps(receipt: readonly ReceiptLine[]): readonly string[] {
  return receipt.flatMap(({ dropped = [], field, granted, reason }) => {
    if (field === "skills" && dropped.length > 0) return `Clamped skills: ${dropped.join(", ")}.`;
    if (field !== "model" || reason === undefined) return [];
    return `Model override clamped to delegated profile model (${String(granted)}).`;
  });
}
