import { z } from "zod";
import { noExposure } from "../../contracts/exposure.ts";
import type { DelegationResult } from "../../ports/delegator.ts";
import { defineTool } from "../tool.ts";
import { delegateAbout } from "./delegate-about.ts";
import { fitResult } from "./fit-result.ts";
import { refusedStart } from "./refused-start.ts";

/** One tool for both ways: wait for the sub-agent, or let it work and look later. */
export const spawnSubagentTool = defineTool({
  name: "spawn_subagent",
  description:
    "Start a sub-agent on a task. blocking: wait for its summary. background: return at once with its sessionId.",
  alongside: {
    get_delegation_result:
      "Collect the result of a background sub-agent with get_delegation_result: its sessionId is the delegationId, and wait_ms waits for the end.",
  },
  effect: "spawn",
  exposure: noExposure,
  idempotent: true,
  scopes: [],
  changes: "none",
  describesChildren: true,
  waits: true,
  about: ({ agentId }, context) => delegateAbout(agentId, context),
  input: z.strictObject({
    agentId: z.string().min(1).max(64).describe("A profile's name, or a handle such as @writer."),
    prompt: z.string().min(1).describe("The task. It sees nothing else of this conversation."),
    capability: z.literal("subtask").optional(),
    returnMode: z.enum(["blocking", "background"]).optional().describe("blocking when absent."),
  }),
  async execute({ agentId, prompt, returnMode = "blocking" }, { delegator }) {
    const isBlocking = returnMode === "blocking";
    const outcome = await delegator.start(
      { profile: agentId, task: prompt },
      isBlocking ? "delegate" : "spawn",
    );
    if (!outcome.started) {
      const refusal = { mode: returnMode, status: "refused", error: outcome.reason };
      return refusedStart(outcome, JSON.stringify(refusal));
    }
    const sessionId = outcome.delegationId;
    if (!isBlocking) return JSON.stringify({ mode: returnMode, sessionId, status: "running" });
    return delegator.joinAndComplete(sessionId, (result) => ({
      text: describe(result, delegator.joinTokens),
      ...(result.status !== "completed" && { isError: true }),
    }));
  },
});

function describe(result: DelegationResult, tokens: number): string {
  const said = fitResult(result, tokens);
  const { closeReason, delegationId: sessionId, status } = result;
  const ended =
    status === "completed" ? { status, summary: said } : { status, closeReason, error: said };
  return JSON.stringify({ mode: "blocking", sessionId, ...ended });
}
