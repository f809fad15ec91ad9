import { readInput } from "../agents/documents/tool-input.ts";
import type { Contract } from "../contracts/contract.ts";
import { includes } from "../contracts/selection.ts";
import type { ToolCall } from "../ports/model.ts";
import { clip } from "../text.ts";
import type { Tool } from "./tool.ts";

export type CallJudgement =
  | { readonly allowed: true; readonly tool: Tool; readonly input: unknown }
  | {
      readonly allowed: false;
      readonly rule: CallRule;
      readonly reason: string;
    };

/** Why a call is refused. `malformed` ones are the model's mistake, the others are policy. */
export type CallRule =
  | "unknown_tool"
  | "malformed_call"
  | "invalid_input"
  | "tool_not_granted"
  | "depth_exhausted"
  | "scope_missing"
  | "writes_not_allowed"
  | "tools_withdrawn"
  | "tool_rule"
  | "not_approved"
  | "trifecta"
  | "exit_not_allowed";

/** The delegation that makes a call. */
export interface CallHolder {
  readonly contract: Contract;
  /** The budget is nearly spent: only ways to end are left. */
  readonly withdrawn: boolean;
  /** Looks up the runtime's tools and those of its MCP servers. */
  readonly find: (name: string) => Tool | undefined;
}

/**
 * Whether a contract allows this call. The name must be exactly the canonical one: a different case,
 * a look-alike letter or another program's name for the same tool is an unknown tool.
 */
export function judgeCall(
  { contract, find, withdrawn }: CallHolder,
  call: ToolCall,
): CallJudgement {
  const { permissions } = contract;
  const tool = find(call.name);
  if (tool === undefined) {
    return refuse("unknown_tool", `There is no tool "${clip(call.name, 201)}". ${offer(contract)}`);
  }
  if (!includes(permissions.allowed_tools, tool.name)) {
    if (permissions.beyond_depth?.includes(tool.name)) return beyondDepth(contract, tool.name);
    return refuse(
      "tool_not_granted",
      `"${contract.profile.id}" may not call ${tool.name}. ${offer(contract)}`,
    );
  }
  if (tool.effect === "spawn" && !permissions.can_spawn_children) {
    return beyondDepth(contract, tool.name);
  }
  if (withdrawn && !contract.exit.tools.includes(tool.name)) {
    return refuse("tools_withdrawn", "The budget is nearly spent: answer with what you have.");
  }
  const { tools: exits } = contract.exit;
  if (tool.ends && !tool.isAlsoUseful && exits.length > 0 && !exits.includes(tool.name)) {
    return refuse("exit_not_allowed", `You may stop only by calling ${exits.join(" or ")}.`);
  }
  const missing = tool.scopes.find((scope) => !includes(permissions.scopes, scope));
  if (missing !== undefined) {
    return refuse(
      "scope_missing",
      `${tool.name} needs the scope "${missing}", which the contract does not grant.`,
    );
  }
  if (tool.effect === "write" && !contract.workspace.allow_writes) {
    return refuse("writes_not_allowed", `The workspace of "${contract.profile.id}" is read-only.`);
  }
  if (call.malformed !== undefined) {
    return refuse(
      "malformed_call",
      `The arguments of ${tool.name} are not JSON: ${clip(call.malformed, 201)}`,
    );
  }
  const read = readInput(tool, call.input ?? {});
  if ("problem" in read) {
    return refuse("invalid_input", `The arguments of ${tool.name} do not fit: ${read.problem}`);
  }
  return { allowed: true, tool, input: read.input };
}

function refuse(rule: CallRule, reason: string): CallJudgement {
  return { allowed: false, rule, reason };
}

function beyondDepth({ parent, profile }: Contract, tool: string): CallJudgement {
  return refuse(
    "depth_exhausted",
    `"${profile.id}" may not call ${tool}: it works at depth ${parent.depth}, and no level of delegation is left below it. Do the work yourself, or report what is missing.`,
  );
}

function offer({ permissions }: Contract): string {
  return permissions.allowed_tools.length > 0
    ? `The contract grants: ${permissions.allowed_tools.join(", ")}.`
    : "The contract grants no tools.";
}
