import type { DelegationResult } from "../../ports/delegator.ts";
import { headOfBytes } from "../../text.ts";
import { fits } from "../delegation/fit-result.ts";
import type { Plan, PlanStep } from "./plan.ts";
import type { StepRecord } from "./step-record.ts";

/**
 * The context of a step, in addition to its task: what the plan is for, and what came of the steps that it
 * depends on, bounded however much those wrote.
 */
export function stepContext(
  { goal, steps }: Plan,
  { dependsOn }: PlanStep,
  records: readonly StepRecord[],
  tokens: number,
): string | undefined {
  const share = Math.floor(tokens / Math.max(1, dependsOn.length));
  const before = dependsOn.flatMap((place) => {
    const step = steps[place];
    const record = records[place];
    return step && record?.result ? [described(step, record, share)] : [];
  });
  const parts = [...(goal === null ? [] : [`Goal of the whole plan: ${goal}`]), ...before];
  return parts.length === 0 ? undefined : parts.join("\n\n");
}

/** Whether the context of a step contains results of tainted children. */
export function isToldUntrusted({ dependsOn }: PlanStep, records: readonly StepRecord[]): boolean {
  return dependsOn.some((place) => {
    const { result, review } = records[place] ?? {};
    return result?.evidence.untrusted === true || review?.result?.evidence.untrusted === true;
  });
}

function described(
  { id, title }: PlanStep,
  { result, review }: StepRecord,
  tokens: number,
): string {
  if (result === undefined) return "";
  return [
    `Result of step "${id}" (${title}), by ${result.profile}:`,
    boundedResult(result, tokens),
    ...(review?.result === undefined
      ? []
      : [`Its review, by ${review.result.profile}:`, boundedResult(review.result, tokens)]),
    ...changedFiles(result),
  ].join("\n");
}

/** The beginning of what is too long, and under which hash the whole of it is kept. */
export function boundedResult(result: DelegationResult, tokens: number): string {
  const { artifacts, evidence, result: text } = result;
  if (fits(text, tokens)) return text;
  const beginning = headOfBytes(text, Math.max(200, tokens * 3));
  const hash = artifacts?.[0]?.hash ?? evidence.output_hash;
  const kept = hash === null ? "" : `, kept as ${hash}`;
  return `${beginning}\n[… ${Buffer.byteLength(text)} bytes in all${kept}]`;
}

const mostFiles = 100;

/** The paths that a child changed, by the runtime's own evidence. */
export function changedFiles({ evidence }: DelegationResult): string[] {
  const { files = [], files_total: total = files.length } = evidence;
  if (files.length === 0) return [];
  const paths = [...new Set(files.map(({ path }) => path))].slice(0, mostFiles);
  const more = total > paths.length ? ", …" : "";
  return [`Files it changed: ${paths.join(", ")}${more}`];
}
