import { describeAnswered } from "../../application/commands/runs/describe-run.ts";
import type { Contract } from "../../contracts/contract.ts";
import type { ReceiptLine } from "../../contracts/receipt.ts";
import { type Delegation, shownName } from "../../events/delegation.ts";
import type { StoredEvent } from "../../events/event.ts";
import { atMost, atMostCost } from "../../events/spent.ts";
import type { DelegationResult } from "../../ports/delegator.ts";
import type { EarlyAnswer } from "../../sessions/delegation-result.ts";
import { countOf, formatCost, formatSpan, formatTokens } from "./amounts.ts";
import { describeWaiting } from "./describe-activity.ts";
import { describeContract, describeReceipt, type Row } from "./describe-contract.ts";
import { padEnd, wrap } from "./display-width.ts";
import { indented } from "./indented.ts";
import { printableLine } from "./printable.ts";
import type { Style } from "./style.ts";

export interface DescribedDelegation {
  readonly runId: string;
  readonly status: string;
  readonly delegation: Delegation;
  readonly contract: Contract;
  readonly receipt: readonly ReceiptLine[];
  readonly result: DelegationResult | null;
  /** Its final answer, where background children keep it open. */
  readonly answer?: EarlyAnswer | null;
  /** It left work in a copy that was not merged. */
  readonly changesKept: boolean;
  readonly events: readonly StoredEvent[];
  readonly now: number;
  /** Where lines are broken between words. */
  readonly columns: number;
}

/** Everything about one delegation that a person would ask for, on a page. */
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
  if (delegation.status === "closed")
    return `closed: ${delegation.finalStatus} (${delegation.closeReason})`;
  if (answer && status !== "interrupted") return describeAnswered(answer.running.length);
  if (delegation.status !== "running" || status === "interrupted") return status;
  return `running, waits on: ${describeWaiting(delegation.waitingOn, now)}`;
}

function resumed({ resumedFrom }: Delegation): string {
  return resumedFrom === null ? "" : `, goes on from ${resumedFrom}`;
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

/** What the runtime saw, not what the agent said. */
function evidence(result: DelegationResult | null, columns: number): string[] {
  if (result === null) return [];
  const { usage, turns, tool_calls, attempts, served, files = [], output_hash } = result.evidence;
  const work = [
    countOf(turns, "turn"),
    countOf(tool_calls, "tool call"),
    countOf(attempts, "attempt"),
  ];
  // Seals of earlier versions do not say what is estimated; the log does.
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
      ["answered by", served.map(printableLine).join(", ") || "nobody"],
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
