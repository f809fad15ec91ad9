import type { DelegationRequest } from "../../ports/delegator.ts";

/** What a reviewer is told, by whoever asks for the review. */
export function reviewTask(about: {
  readonly focus?: string | undefined;
  readonly paths?: readonly string[] | undefined;
  readonly changes?: { readonly text: string; readonly truncated: boolean } | undefined;
}): Pick<DelegationRequest, "task" | "title" | "context"> {
  const { changes, focus, paths } = about;
  const what = paths === undefined ? "Review this change." : `Review ${paths.join(", ")}.`;
  const task = [
    what,
    ...(focus === undefined ? [] : [`Focus: ${focus}`]),
    "End your report with one line: VERDICT: approve, or VERDICT: changes.",
  ].join("\n\n");
  const cut = changes?.truncated ? "\n(The diff is longer; read the files for the rest.)" : "";
  return {
    task,
    title: what,
    ...(changes && { context: `The change, as a diff:\n\n${changes.text}${cut}` }),
  };
}

export type ReviewVerdict = "approve" | "changes" | "unclear";

/** The last verdict that stands in a report: what comes before may quote others. */
export function verdictIn(report: string): ReviewVerdict {
  const found = [...report.matchAll(/verdict[\s:*`"'-]{1,12}(approve|changes)/gi)].at(-1)?.[1];
  if (found === undefined) return "unclear";
  return found.toLowerCase() === "approve" ? "approve" : "changes";
}
