/**
 * Where the report of a child is written, relative to the workspace. `<run>` is the run's id, `<id>`
 * the child's, and `<idx>` its index in its plan.
 */
export const defaultReportPattern = ".mandate/reports/<run>/step-<idx>-result.md";

/** Of `.mandate`, what agents cannot write, reports alone have their place. */
export const ownReportFolder = ".mandate/reports/";

/** What a pattern may hold between `<` and `>`. */
export const reportPlaceholders: readonly string[] = ["<run>", "<idx>", "<id>"];

/** The pattern of a child that is no step of a plan: it has no index, and is named by its id. */
export function patternById(pattern: string): string {
  return pattern.replaceAll("step-<idx>", "<id>").replaceAll("<idx>", "<id>");
}

export interface ReportNames {
  readonly run: string;
  readonly id: string;
  readonly idx: string;
}

/**
 * @example
 * reportPath("reports/<run>/step-<idx>.md", { run: "r1", id: "a1b2c3", idx: "2" });
 * // "reports/r1/step-2.md"
 */
export function reportPath(pattern: string, { id, idx, run }: ReportNames): string {
  return pattern.replaceAll("<run>", run).replaceAll("<idx>", idx).replaceAll("<id>", id);
}
