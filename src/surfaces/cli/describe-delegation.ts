import { describeAnswered } from "../../application/commands/describe-run.ts";
import { programRows } from "../../application/public-contract.ts";
import type { Contract } from "../../contracts/contract.ts";
import type { ReceiptLine } from "../../contracts/receipt.ts";
import type { Selection } from "../../contracts/selection.ts";
import { labelOfEnd } from "../../events/cause.ts";
import { describeStatus } from "../../events/close-reason.ts";
import { type Delegation, shownName } from "../../events/delegation.ts";
import type { StoredEvent } from "../../events/event.ts";
import { atMost, atMostCost } from "../../events/spent.ts";
import type { DelegationResult } from "../../ports/delegator.ts";
import { type EarlyAnswer, statusOf } from "../../sessions/delegation-result.ts";
import { countOf, formatCost, formatSpan, formatTokens } from "./amounts.ts";
import { padEnd, wrap } from "./display-width.ts";
import { indented, printableLine } from "./printable.ts";
import type { Style } from "./style.ts";
import { describeWaiting } from "./tree-rows.ts";

export interface DescribedDelegation {
  readonly runId: string;
  readonly status: string;
  readonly delegation: Delegation;
  readonly contract: Contract;
  readonly receipt: readonly ReceiptLine[];
  readonly result: DelegationResult | null;
  /** The final answer of a delegation that background children keep open. */
  readonly answer?: EarlyAnswer | null;
  /** The working copy holds changes that were not merged. */
  readonly changesKept: boolean;
  readonly events: readonly StoredEvent[];
  readonly now: number;
  /** Where lines are broken between words. */
  readonly columns: number;
}

/** One delegation on a page: task, contract, receipt, refusals, result, evidence. */
export function describeDelegation(
  about: DescribedDelegation,
  style: Style,
  program: string,
): string {
  const { delegation, contract, receipt, result, runId, columns } = about;
  const { paint } = style;
  const section = (title: string, lines: readonly string[]) =>
    lines.length === 0 ? [] : ["", paint.strong(title), ...lines];
  const caller = delegation.parentId === null ? "a person" : `agent ${delegation.parentId}`;
  return [
    `${paint.strong(`${printableLine(shownName(delegation))} ${delegation.id}`)}  ${stateOf(about)}`,
    `in run ${runId}, made by ${caller}, depth ${delegation.depth}${resumed(delegation)}`,
    ...section("Task", [indented(contract.step.description)]),
    ...section("Context", contract.step.context === null ? [] : [indented(contract.step.context)]),
    ...section(
      `Contract ${paint.dim(delegation.contractHash.slice(0, 16))}`,
      rows(describeContract(contract), columns),
    ),
    ...section(
      "Receipt",
      rows(
        receipt.map((line) => [line.field, describeReceipt(line)]),
        columns,
      ),
    ),
    ...section("Refused", refusals(about, style)),
    ...section(
      result?.status === "completed" || result === null ? "Result" : "Failure",
      outcome(result, about.answer ?? null),
    ),
    ...section("Evidence", evidence(result, columns)),
    ...section(
      "Changes kept",
      about.changesKept
        ? [`  ${program} diff ${delegation.id}, then ${program} merge or discard ${delegation.id}`]
        : [],
    ),
    "",
    paint.dim(`${program} logs ${delegation.id} shows every event of it.`),
    "",
  ].join("\n");
}

function stateOf({ answer, delegation, status, now }: DescribedDelegation): string {
  if (delegation.status === "closed") return describeEnd(delegation);
  if (answer && status !== "interrupted") return describeAnswered(answer.running.length);
  if (delegation.status !== "running" || status === "interrupted") return status;
  return `running, waits on: ${describeWaiting(delegation.waitingOn, now)}`;
}

/** `cancelled`, `failed (API key refused)`, `completed (changes merged)`. */
function describeEnd(delegation: Extract<Delegation, { status: "closed" }>): string {
  const { closeReason, finalStatus } = delegation;
  return describeStatus(statusOf(finalStatus, closeReason), closeReason, labelOfEnd(delegation));
}

function resumed({ resumedFrom }: Delegation): string {
  return resumedFrom === null ? "" : `, continues ${resumedFrom}`;
}

function refusals({ events, columns }: DescribedDelegation, { paint, glyphs }: Style): string[] {
  return events.flatMap((event) => {
    if (event.type !== "agent.tool_denied") return [];
    const { tool, rule, error } = event.payload;
    const text = `${printableLine(tool)} (${rule}): ${printableLine(error)}`;
    return wrap(text, columns - 5).map(
      (line, index) => `  ${index === 0 ? paint.warn(glyphs.refused) : " "} ${line}`,
    );
  });
}

function outcome(result: DelegationResult | null, answer: EarlyAnswer | null): string[] {
  if (result === null) return [answer === null ? "  It has not ended yet." : indented(answer.text)];
  return [indented(result.result || "(nothing)")];
}

/** What the runtime recorded, not what the agent reported. */
function evidence(result: DelegationResult | null, columns: number): string[] {
  if (result === null) return [];
  const { usage, turns, tool_calls, attempts, served, files = [], output_hash } = result.evidence;
  const work = [
    countOf(turns, "turn"),
    countOf(tool_calls, "tool call"),
    countOf(attempts, "attempt"),
  ];
  // Seals of earlier versions lack what is estimated; the log has it.
  const { tokenUsage: mark } = result;
  const tokens = [
    atMost(`${formatTokens(usage.prompt)} in`, mark),
    atMost(`${formatTokens(usage.completion)} out`, mark),
    atMostCost(formatCost(usage.cost), mark),
  ].join(", ");
  return rows(
    [
      ["work", `${work.join(", ")} in ${formatSpan(result.duration)}`],
      ["tokens", tokens],
      ["answered by", served.map(printableLine).join(", ") || "no model"],
      ...(output_hash === null ? [] : [["output sha256", output_hash.slice(0, 16)] as Row]),
      ...files.map(
        ({ path, before }): Row => [before === null ? "created" : "changed", printableLine(path)],
      ),
    ],
    columns,
  );
}

function rows(pairs: readonly Row[], columns: number): string[] {
  const width = Math.max(...pairs.map(([label]) => label.length), 0);
  return pairs.flatMap(([label, text]) =>
    wrap(text, columns - width - 5).map(
      (line, index) => `  ${padEnd(index === 0 ? label : "", width)}  ${line}`,
    ),
  );
}

export type Row = readonly [label: string, text: string];

const isolations = { shared: "shared", sandbox: "copy", custom: "custom" } as const;

/** A contract in words, one row for each grant or limit. */
function describeContract(contract: Contract): Row[] {
  const { permissions, model, budget, execution, exit, deadlines, workspace } = contract;
  const cost = budget.cost === null ? "" : `, at most $${budget.cost}`;
  return [
    ["tools", names(permissions.allowed_tools)],
    ["delegates", delegating(contract)],
    ...programRows(contract).map(([label, text]): Row => [label, printableLine(text)]),
    ["model", `${model.provider}/${model.model}${alternatives(contract)}`],
    ["tokens", `${budget.tokens.toLocaleString("en")}, including sub-agents${cost}`],
    [
      "time",
      `${formatSpan(deadlines.total)} in all; ${countOf(execution.max_retries + 1, "attempt")}`,
    ],
    [
      "workspace",
      workspace.root === null
        ? "none"
        : `${printableLine(workspace.root)} (${isolations[workspace.isolation]})`,
    ],
    [
      "may write",
      workspace.allow_writes ? permissions.write_roots.map(printableLine).join(", ") : "nothing",
    ],
    ...optional("owns", workspace.owns),
    ["network", names(permissions.network)],
    ...optional("without a sandbox", permissions.unsandboxed ?? []),
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

/** What was requested, what was granted, and why it is less. */
export function describeReceipt(line: ReceiptLine): string {
  const reason = line.reason === undefined ? "" : ` (${printableLine(line.reason)})`;
  if (line.dropped?.length) {
    return `granted ${value(line.granted)}; dropped ${names(line.dropped)}${reason}`;
  }
  const said = line.field === "timeout" ? span : value;
  return `asked for ${said(line.requested)}, granted ${said(line.granted)}${reason}`;
}

/** The lines where less was granted than requested. */
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
