import { z } from "zod";
import { noExposure } from "../../contracts/exposure.ts";
import { defineTool } from "../tool.ts";
import { describeResult } from "./delegate-task.ts";
import { childTool, exitTool, idAliases, longestMs, subAgentId } from "./delegation-call.ts";

export const listSubAgentsTool = defineTool({
  name: "list_sub_agents",
  description: "List your sub-agents, active and finished, with what each waits on and has used.",
  ...childTool,
  polls: "state",
  describesChildren: true,
  input: z.strictObject({}),
  async execute(_input, { delegator }) {
    return JSON.stringify(await delegator.list());
  },
});

export const getDelegationResultTool = defineTool({
  name: "get_delegation_result",
  description:
    "Get the result of one of your sub-agents, or null while it is running. With wait_ms it waits for the end; null after that means that it is still running: do other work, and call it again.",
  ...childTool,
  polls: "results",
  describesChildren: true,
  waits: true,
  aliases: { ...idAliases, max_wait_ms: "wait_ms" },
  input: z.strictObject({
    delegationId: subAgentId,
    wait_ms: z
      .int()
      .min(1)
      .max(longestMs)
      .optional()
      .describe("Milliseconds to wait for the end; absent: none."),
  }),
  async execute({ delegationId, wait_ms: waitMs }, { delegator }) {
    const isMine = await delegator.isMine(delegationId);
    if (isMine && waitMs !== undefined) await delegator.results.join([delegationId], waitMs);
    const result = isMine ? await delegator.results.of(delegationId) : null;
    if (result === null) return "null";
    delegator.results.delivered([delegationId]);
    return describeResult(result, delegator.results);
  },
});

export const cancelDelegationTool = defineTool({
  name: "cancel_delegation",
  description: "Cancel one of your sub-agents and everything below it. Safe to repeat.",
  ...childTool,
  aliases: idAliases,
  input: z.strictObject({
    delegationId: subAgentId,
    reason: z.string().max(4000).optional().describe("Why, for the log."),
  }),
  async execute({ delegationId, reason }, { delegator }) {
    if (!(await delegator.isMine(delegationId))) {
      return { text: `Error: you have no sub-agent ${delegationId}`, isError: true };
    }
    const outcome = await delegator.cancel(delegationId, reason ?? "cancelled by its caller");
    // The agent that cancelled a child knows how it ended.
    if (outcome === "cancelled") delegator.results.delivered([delegationId]);
    return JSON.stringify({ delegationId, outcome });
  },
});

export const sendMessageTool = defineTool({
  name: "send_message",
  description:
    "Send a message to one of your running sub-agents, to correct or extend its task. It reads the message before its next turn; its answer is its result.",
  effect: "spawn",
  exposure: noExposure,
  idempotent: true,
  scopes: [],
  aliases: { ...idAliases, text: "message" },
  input: z.strictObject({
    delegationId: subAgentId,
    message: z.string().describe("What it should know or do, complete in itself."),
  }),
  async execute({ delegationId, message }, { delegator }) {
    if (!(await delegator.isMine(delegationId))) {
      return { text: `Error: there is no sub-agent ${delegationId} of yours`, isError: true };
    }
    const refusal = await delegator.send(delegationId, message);
    if (refusal !== undefined) return { text: `Error: ${refusal}`, isError: true };
    return `Sent. ${delegationId} reads it before its next turn.`;
  },
});

export const interjectTool = defineTool({
  name: "interject",
  description:
    "Say something to the agent that you watch. info: it is kept for the person; warn: the agent reads it before its next turn; critical: the agent's next calls are stopped. At most three sentences.",
  ...exitTool,
  onlyFor: "watcher",
  input: z.strictObject({
    severity: z.enum(["info", "warn", "critical"]).describe("How much it matters."),
    message: z.string().trim().min(1).max(1000).describe("At most three sentences."),
  }),
  async execute({ message, severity }, { delegator }) {
    const refusal = await delegator.interject(severity, message);
    return refusal === undefined ? "Said." : { text: `Error: ${refusal}`, isError: true };
  },
});
