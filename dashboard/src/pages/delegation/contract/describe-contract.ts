import type { PublicContract } from "../../../../../src/application/public-contract.ts";
import { describeRunner, notEnforced } from "../../../../../src/contracts/agent-runner.ts";
import type { Selection } from "../../../../../src/contracts/selection.ts";
import { countOf, formatSpan } from "../../../../../src/surfaces/cli/amounts.ts";

export interface ContractRow {
  readonly label: string;
  readonly text: string;
  /** Names that stand for themselves, such as tools. */
  readonly names?: readonly string[];
}

export interface ContractGroup {
  readonly title: string;
  readonly rows: readonly ContractRow[];
}

/** A contract in words: one row for each thing that it grants or limits. */
export function describeContract(contract: PublicContract): readonly ContractGroup[] {
  return [
    { title: "Permissions", rows: mayUse(contract) },
    { title: "Workspace", rows: whereIt(contract) },
    { title: "Limits", rows: howMuch(contract) },
    { title: "Completion", rows: howItEnds(contract) },
    { title: "Identity", rows: whoItIs(contract) },
  ];
}

function mayUse({ model, permissions, runner, servers }: PublicContract): ContractRow[] {
  const open = notEnforced(runner);
  const rules = (permissions.rules ?? []).flat();
  const hands = permissions.may_delegate?.tools;
  const delegates = permissions.can_spawn_children
    ? `yes, ${countOf(permissions.max_delegation_depth, "level")} deep`
    : "no";
  return [
    selection("Tools", permissions.allowed_tools),
    { label: "Delegates", text: delegates },
    ...(hands === undefined ? [] : [selection("Tools it may grant", hands)]),
    ...(runner === undefined ? [] : [{ label: "Agent program", text: describeRunner(runner) }]),
    ...(open === undefined ? [] : [{ label: "Not enforced", text: open }]),
    { label: "Model", text: `${model.provider}/${model.model}` },
    selection("Allowed models", model.allow),
    ...(model.fallbacks?.length ? [selection("Fallbacks, in order", model.fallbacks)] : []),
    ...some("Skills", permissions.skills),
    ...some("MCP servers", permissions.mcp_servers),
    ...Object.entries(servers ?? {}).map(([name, text]) => ({ label: `MCP server ${name}`, text })),
    ...some("Scopes", permissions.scopes),
    { label: "Memory", text: permissions.memory ?? "none" },
    ...rules.map(({ action, match, tool }) => ({
      label: "Rule",
      text: `${action} ${tool}${match === undefined ? "" : ` where ${match}`}`,
    })),
  ];
}

function whereIt({ permissions, workspace }: PublicContract): ContractRow[] {
  const where = {
    shared: "its parent's folder",
    sandbox: "own working copy",
    custom: "part of its parent's folder",
  }[workspace.isolation];
  if (workspace.root === null) {
    return [{ label: "Workspace", text: "none" }, selection("Network", permissions.network)];
  }
  return [
    { label: "Workspace", text: `${workspace.root} (${where})` },
    ...(workspace.copy ? [{ label: "A copy of", text: workspace.copy.of }] : []),
    workspace.allow_writes
      ? selection("May write below", permissions.write_roots)
      : { label: "May write", text: "nothing" },
    ...(workspace.owns.length > 0 ? [selection("May change only", workspace.owns)] : []),
    selection("Network", permissions.network),
    ...(permissions.unsandboxed ? [selection("Without a sandbox", permissions.unsandboxed)] : []),
    ...(workspace.checks?.length ? [selection("Checked before merging", workspace.checks)] : []),
    ...(workspace.approval ? [{ label: "Merging", text: "needs a person's approval" }] : []),
  ];
}

function howMuch({ budget, deadlines, execution, join, model }: PublicContract): ContractRow[] {
  const tokens = budget.tokens.toLocaleString("en");
  return [
    { label: "Tokens", text: `${tokens}, including sub-agents` },
    { label: "Cost", text: budget.cost === null ? "no limit" : `$${budget.cost} at most` },
    { label: "Reserved for final answer", text: `${budget.reserve.toLocaleString("en")} tokens` },
    { label: "One answer", text: `${model.max_output_tokens.toLocaleString("en")} tokens at most` },
    {
      label: "Its result",
      text: `${join.max_tokens.toLocaleString("en")} tokens at most`,
    },
    { label: "Time", text: `${formatSpan(deadlines.total)} in all` },
    { label: "One attempt", text: formatSpan(execution.attempt_timeout_ms) },
    { label: "Attempts", text: countOf(execution.max_retries + 1, "attempt") },
    ...(execution.max_turns === undefined
      ? []
      : [{ label: "Turns", text: countOf(execution.max_turns, "turn") }]),
    {
      label: "Timeouts",
      text: `${formatSpan(deadlines.first_token)} for a first token, ${formatSpan(deadlines.stall)} between tokens, ${formatSpan(deadlines.tool)} for a tool, ${formatSpan(deadlines.idle)} without an event`,
    },
  ];
}

const evidence = {
  none: "none required",
  tool_calls: "at least one completed tool call",
  files: "at least one changed file",
};

function howItEnds({
  exit,
  on_parent_interrupt: interrupted,
  outputs,
}: PublicContract): ContractRow[] {
  return [
    {
      label: "Ends by",
      text: exit.tools.length > 0 ? `calling ${exit.tools.join(" or ")}` : "its final answer",
    },
    ...(exit.output_schema === null
      ? []
      : [{ label: "Output schema", text: JSON.stringify(exit.output_schema) }]),
    { label: "Evidence", text: evidence[exit.evidence] },
    ...(exit.review
      ? [
          {
            label: "Reviewed by",
            text: `${exit.review.profile}, ${countOf(exit.review.rounds, "round")}`,
          },
        ]
      : []),
    {
      label: "If its parent stops",
      text: { cancel: "it is cancelled", pause: "it is paused", continue: "it continues" }[
        interrupted
      ],
    },
    { label: "Its transcript", text: outputs.transcript ? "readable by its parent" : "sealed" },
  ];
}

function whoItIs({ parent, principal, profile }: PublicContract): ContractRow[] {
  return [
    {
      label: "Profile",
      text: `${profile.id}${profile.agent === undefined ? "" : ` (as @${profile.agent})`}`,
    },
    { label: "Profile sha256", text: profile.hash.slice(0, 16) },
    { label: "Prompt sha256", text: profile.prompt.slice(0, 16) },
    { label: "On behalf of", text: `${principal.id} (${principal.role})` },
    { label: "Depth", text: String(parent.depth) },
    ...(parent.watches === undefined ? [] : [{ label: "Watches", text: parent.watches }]),
  ];
}

function selection(label: string, chosen: Selection): ContractRow {
  if (chosen === "*") return { label, text: "all" };
  return chosen.length === 0 ? { label, text: "none" } : { label, text: "", names: chosen };
}

function some(label: string, chosen: Selection): ContractRow[] {
  return chosen === "*" || chosen.length > 0 ? [selection(label, chosen)] : [];
}
