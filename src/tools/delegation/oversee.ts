import { z } from "zod";
import { defineTool } from "../tool.ts";
import { describeResult } from "./delegate-task.ts";

export const listSubAgentsTool = defineTool({
  name: "list_sub_agents",
  description: "List your sub-agents, active and finished, with what each waits on and has used.",
  effect: "spawn",
  idempotent: true,
  scopes: [],
  input: z.strictObject({}),
  async execute(_input, { delegator }) {
    return JSON.stringify(await delegator.list());
  },
});

export const getDelegationResultTool = defineTool({
  name: "get_delegation_result",
  description: "Get the result of one of your sub-agents, or null while it still works.",
  effect: "spawn",
  idempotent: true,
  scopes: [],
  input: z.strictObject({ delegationId: z.string() }),
  async execute({ delegationId }, { delegator }) {
    const result = delegator.isMine(delegationId) ? await delegator.result(delegationId) : null;
    if (result === null) return "null";
    delegator.delivered([delegationId]);
    return describeResult(result, delegator);
  },
});

export const cancelDelegationTool = defineTool({
  name: "cancel_delegation",
  description: "Cancel one of your sub-agents and everything below it. Safe to repeat.",
  effect: "spawn",
  idempotent: true,
  scopes: [],
  input: z.strictObject({ delegationId: z.string(), reason: z.string().optional() }),
  async execute({ delegationId, reason }, { delegator }) {
    if (!delegator.isMine(delegationId)) {
      return { text: `Error: you have no sub-agent ${delegationId}`, isError: true };
    }
    const outcome = await delegator.cancel(delegationId, reason ?? "cancelled by its caller");
    // Whoever ends a child knows how it ended.
    if (outcome === "cancelled") delegator.delivered([delegationId]);
    return JSON.stringify({ delegationId, outcome });
  },
});
