import type { DelegationRequest, DelegationResult } from "../../ports/delegator.ts";
import { headOfBytes } from "../../text.ts";
import { fits } from "../delegation/delegation-call.ts";
import type { Plan, PlanStep } from "./plan.ts";

/** What the child of a step is asked for. */
export function stepRequest(step: PlanStep, context: string | undefined): DelegationRequest {
  return {
    task: step.description,
    title: step.title,
    profile: step.profile,
    successCriteria: step.successCriteria,
    owns: step.owns.length > 0 ? step.owns : undefined,
    context,
  };
}

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
function boundedResult(result: DelegationResult, tokens: number): string {
  const { artifacts, evidence, result: text } = result;
  if (fits(text, tokens)) return text;
  const beginning = headOfBytes(text, Math.max(200, tokens * 3));
  const hash = artifacts?.[0]?.hash ?? evidence.output_hash;
  const kept = hash === null ? "" : `, kept as ${hash}`;
  return `${beginning}\n[… ${Buffer.byteLength(text)} bytes in all${kept}]`;
}

const mostFiles = 100;

/** The paths that a child changed, by the runtime's own evidence. */
function changedFiles({ evidence }: DelegationResult): string[] {
  const { files = [], files_total: total = files.length } = evidence;
  if (files.length === 0) return [];
  const paths = [...new Set(files.map(({ path }) => path))].slice(0, mostFiles);
  const more = total > paths.length ? ", …" : "";
  return [`Files it changed: ${paths.join(", ")}${more}`];
}

/** The task of the reviewer of a step. */
export function stepReview(
  { goal }: Plan,
  step: PlanStep,
  result: DelegationResult,
  tokens: number,
): Pick<DelegationRequest, "task" | "title" | "context"> {
  const criteria = step.successCriteria.map((criterion) => `- ${criterion}`);
  const files = changedFiles(result);
  return {
    title: `Review: ${step.title}`,
    task: [
      `Review what came of the step "${step.title}". Say first whether it can stay as it is, then what has to change and why.`,
      ...(criteria.length === 0 ? [] : [["It is done when:", ...criteria].join("\n")]),
      files.length === 0 ? "By the runtime's evidence it changed no files." : files.join("\n"),
    ].join("\n\n"),
    context: [
      ...(goal === null ? [] : [`Goal of the whole plan: ${goal}`]),
      `What ${result.profile} was asked to do:\n${step.description}`,
      `What it reports, which is a claim to be checked:\n${boundedResult(result, tokens)}`,
    ].join("\n\n"),
  };
}

/** What came of one step so far: its last try, and who judged it. */
export interface StepRecord {
  readonly tries: number;
  /** The step was completed before the runner of the plan was interrupted. */
  readonly isEarlier?: true;
  /** The result of the last try; absent: no child was made. */
  readonly result?: DelegationResult;
  /** Why there was no child. */
  readonly refusal?: string;
  readonly review?: { readonly result?: DelegationResult; readonly refusal?: string };
}
