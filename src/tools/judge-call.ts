import { z } from "zod";
import type { Contract } from "../contracts/contract.ts";
import { includes } from "../contracts/selection.ts";
import type { ToolCall } from "../ports/model.ts";
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

/**
 * Whether a contract lets this call through. The name must be the canonical one, to the letter: a
 * different case, a look-alike letter or a peer's name for the same thing is another tool, and an
 * unknown one.
 */
export function judgeCall(
  contract: Contract,
  find: (name: string) => Tool | undefined,
  call: ToolCall,
  withdrawn: boolean,
): CallJudgement {
  const { permissions } = contract;
  const tool = find(call.name);
  if (tool === undefined) {
    return refuse("unknown_tool", `There is no tool "${clip(call.name)}". ${offer(contract)}`);
  }
  if (!includes(permissions.allowed_tools, tool.name)) {
    return refuse(
      "tool_not_granted",
      `"${contract.profile.id}" may not call ${tool.name}. ${offer(contract)}`,
    );
  }
  if (tool.effect === "spawn" && !permissions.can_spawn_children) {
    return refuse("depth_exhausted", `"${contract.profile.id}" may not delegate any further.`);
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
      `The arguments of ${tool.name} are not JSON: ${clip(call.malformed)}`,
    );
  }
  const parsed = tool.input.safeParse(call.input ?? {});
  if (!parsed.success) {
    return refuse("invalid_input", describeIssues(tool.name, parsed.error));
  }
  return { allowed: true, tool, input: parsed.data };
}

function refuse(rule: CallRule, reason: string): CallJudgement {
  return { allowed: false, rule, reason };
}

function offer({ permissions }: Contract): string {
  return permissions.allowed_tools.length > 0
    ? `The contract grants: ${permissions.allowed_tools.join(", ")}.`
    : "The contract grants no tools.";
}

/** Every name that is not known stands in it, and whoever calls can have made up thousands. */
function describeIssues(tool: string, error: z.ZodError): string {
  const issues = z.prettifyError(error).replaceAll("\n", " ");
  return `The arguments of ${tool} do not fit: ${clip(issues, 4000)}`;
}

function clip(text: string, most = 200): string {
  return text.length > most ? `${text.slice(0, most).toWellFormed()}…` : text;
}
