import type { Contract } from "../../contracts/contract.ts";
import type { ReceiptLine } from "../../contracts/receipt.ts";
import type { Selection } from "../../contracts/selection.ts";
import { countOf, formatSpan } from "./amounts.ts";
import { printableLine } from "./printable.ts";

export type Row = readonly [label: string, text: string];

/** A contract in words, one row for each thing that it grants or limits. */
export function describeContract(contract: Contract): Row[] {
  const { permissions, model, budget, execution, exit, deadlines, workspace } = contract;
  const cost = budget.cost === null ? "" : `, at most $${budget.cost}`;
  return [
    ["tools", names(permissions.allowed_tools)],
    ["delegates", delegating(contract)],
    ["model", `${model.provider}/${model.model}${alternatives(contract)}`],
    ["tokens", `${budget.tokens.toLocaleString("en")} for it and all below it${cost}`],
    [
      "time",
      `${formatSpan(deadlines.total)} in all; ${countOf(execution.max_retries + 1, "attempt")}`,
    ],
    [
      "workspace",
      workspace.root === null
        ? "none"
        : `${printableLine(workspace.root)} (${workspace.isolation})`,
    ],
    [
      "may write",
      workspace.allow_writes ? permissions.write_roots.map(printableLine).join(", ") : "nothing",
    ],
    ...optional("owns", workspace.owns),
    ["network", names(permissions.network)],
    ...optional("skills", permissions.skills),
    ...optional("MCP servers", permissions.mcp_servers),
    ...optional("scopes", permissions.scopes),
    ["ends by", ending(exit)],
    ["if its caller is interrupted", contract.on_parent_interrupt],
    [
      "on behalf of",
      `${printableLine(contract.principal.id)} (${printableLine(contract.principal.role)})`,
    ],
  ];
}

/** What was asked for, what came of it, and why it is less. */
export function describeReceipt(line: ReceiptLine): string {
  const reason = line.reason === undefined ? "" : ` (${printableLine(line.reason)})`;
  if (line.dropped?.length) {
    return `granted ${value(line.granted)}; dropped ${names(line.dropped)}${reason}`;
  }
  const said = line.field === "timeout" ? span : value;
  return `asked for ${said(line.requested)}, granted ${said(line.granted)}${reason}`;
}

/** The lines that say something was not granted as asked. */
export function reductions(receipt: readonly ReceiptLine[]): ReceiptLine[] {
  return receipt.filter(({ reason, dropped }) => reason !== undefined || dropped !== undefined);
}

function delegating({ permissions }: Contract): string {
  if (!permissions.can_spawn_children) return "no";
  const depth = countOf(permissions.max_delegation_depth, "level");
  const own = permissions.may_delegate?.tools;
  return `yes, ${depth} deep${own === undefined ? "" : `; may hand on ${names(own)}`}`;
}

function alternatives({ model }: Contract): string {
  const own = `${model.provider}/${model.model}`;
  const others = model.allow === "*" ? ["any"] : model.allow.filter((name) => name !== own);
  return others.length === 0 ? "" : ` (may be overridden with ${names(others)})`;
}

function ending(exit: Contract["exit"]): string {
  const how = exit.tools.length > 0 ? `calling ${exit.tools.join(" or ")}` : "its final answer";
  const schema = exit.output_schema === null ? "" : ", which must fit a schema";
  const evidence = exit.evidence === "tool_calls" ? ", after at least one completed tool call" : "";
  return how + schema + evidence;
}

function optional(label: string, selection: Selection): Row[] {
  return selection === "*" || selection.length > 0 ? [[label, names(selection)]] : [];
}

function names(selection: Selection): string {
  if (selection === "*") return "all";
  return selection.length === 0 ? "none" : selection.map(printableLine).join(", ");
}

function span(ms: unknown): string {
  return formatSpan(Number(ms));
}

function value(asked: unknown): string {
  if (typeof asked === "number") return asked.toLocaleString("en");
  if (typeof asked === "string") return asked === "*" ? "all" : printableLine(asked);
  if (Array.isArray(asked)) return names(asked.map(String));
  return printableLine(JSON.stringify(asked) ?? "nothing");
}
