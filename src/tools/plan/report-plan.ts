import type { DelegationResult } from "../../ports/delegator.ts";
import { storedLine } from "../../text.ts";
import { fitResult } from "../delegation/delegation-call.ts";
import type { Plan } from "./plan.ts";
import type { PlanProgress } from "./plan-progress.ts";
import type { StepRecord } from "./step-request.ts";

/** Fewer bytes than this for each step, and completed ones are told in a line. */
const leastShare = 400;

/** What came of a plan, for the model that submitted it: what failed comes first. */
export function reportPlan(
  plan: Plan,
  progress: PlanProgress,
  records: readonly StepRecord[],
  joinTokens: number,
): string {
  const places = [...plan.steps.keys()];
  const byState = Map.groupBy(places, (place) => progress.stateOf(place));
  const { completed = [], failed = [], waiting: missing = [] } = Object.fromEntries(byState);
  const reviews = plan.steps.filter(({ reviewer }) => reviewer !== null).length;
  const share = Math.floor(joinTokens / (plan.steps.length + reviews));
  const isShort = share * bytesPerToken < leastShare;
  const report = new Report(plan, progress, records, Math.max(share, leastShare / bytesPerToken));
  const parts = [
    ...failed.map((place) => report.failed(place)),
    ...missing.map((place) => report.missing(place)),
    ...completed.map((place) => (isShort ? report.line(place) : report.completed(place))),
  ];
  return [
    headline(places.length, completed.length, failed.length, missing.length),
    ...(isShort ? fitting(parts, joinTokens * bytesPerToken) : parts),
    ...(completed.length === places.length ? [] : [advice]),
  ].join(isShort ? "\n" : "\n\n");
}

const bytesPerToken = 3;

/** The first parts that fit. Failed steps come first. */
function fitting(parts: readonly string[], bytes: number): string[] {
  let left = bytes;
  const shown = parts.filter((part) => {
    left -= Buffer.byteLength(part) + 1;
    return left >= 0;
  });
  const hidden = parts.length - shown.length;
  return hidden === 0 ? shown : [...shown, `… and ${hidden} more steps.`];
}

const advice =
  "As it stands the run fails with this plan. Submit another one for what is left, changed in what made it fail: it supersedes this plan, and what was completed stays.";

function headline(all: number, completed: number, failed: number, missing: number): string {
  if (completed === all) return `Plan completed: all ${all} steps.`;
  return `Plan failed: ${completed} of ${all} steps completed, ${failed} failed, ${missing} not started.`;
}

class Report {
  readonly #plan: Plan;
  readonly #progress: PlanProgress;
  readonly #records: readonly StepRecord[];
  readonly #tokens: number;

  constructor(plan: Plan, progress: PlanProgress, records: readonly StepRecord[], tokens: number) {
    this.#plan = plan;
    this.#progress = progress;
    this.#records = records;
    this.#tokens = tokens;
  }

  completed(place: number): string {
    const { isEarlier, result, review } = this.#recordOf(place);
    const lines = [this.#head(place, isEarlier ? "COMPLETED EARLIER" : "COMPLETED")];
    if (result) lines.push(fitResult(result, this.#tokens));
    if (review?.result) {
      const verdict = review.result.status === "completed" ? "Review" : "Review failed";
      lines.push(`${verdict} (${who(review.result)}): ${fitResult(review.result, this.#tokens)}`);
    } else if (review) lines.push(`There was no review: ${review.refusal}`);
    return lines.join("\n");
  }

  line(place: number): string {
    const { isEarlier, review } = this.#recordOf(place);
    const verdict = review?.result ? `; review: ${review.result.evidence.summary}` : "";
    return `${this.#head(place, isEarlier ? "COMPLETED EARLIER" : "COMPLETED")}${storedLine(verdict, 120)}`;
  }

  failed(place: number): string {
    const { refusal, result, tries } = this.#recordOf(place);
    const head = this.#head(place, tries > 1 ? `FAILED after ${tries} tries` : "FAILED");
    if (result === undefined) return `${head}\nIt could not be started: ${refusal}`;
    return `${head}\n${result.closeReason}: ${fitResult(result, this.#tokens)}`;
  }

  missing(place: number): string {
    return `${this.#head(place, "NOT STARTED")}: ${this.#whyMissing(place)}`;
  }

  #whyMissing(place: number): string {
    const { steps } = this.#plan;
    const open = steps[place]?.dependsOn.find(
      (each) => this.#progress.stateOf(each) !== "completed",
    );
    const { stoppedBy } = this.#progress;
    if (open !== undefined) return `it depends on ${steps[open]?.id}, which was not completed.`;
    return `nothing was begun after ${steps[stoppedBy ?? 0]?.id} had failed.`;
  }

  #head(place: number, status: string): string {
    const { id = "", title = "", profile = "" } = this.#plan.steps[place] ?? {};
    const { result } = this.#recordOf(place);
    return `[${id}: ${status}] ${storedLine(title, 100)} (${result ? who(result) : profile})`;
  }

  #recordOf(place: number): StepRecord {
    return this.#records[place] ?? { tries: 0 };
  }
}

function who({ delegationId, profile }: DelegationResult): string {
  return `${profile}, ${delegationId}`;
}
