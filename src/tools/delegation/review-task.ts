import type { DelegationRequest } from "../../ports/delegator.ts";

/** The task of a reviewer. */
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

/**
 * What the last line says that gives a verdict and nothing else. A report quotes the change, and the
 * change may hold any words: only the whole line counts, an approval with a condition is none, and
 * neither is one that the report speaks of again.
 */
export function verdictIn(report: string): ReviewVerdict {
  const lines = report.split(/\r?\n/);
  const place = lines.findLastIndex((line) => verdictForm.test(line));
  const said = verdictForm.exec(lines[place] ?? "")?.[1]?.toLowerCase();
  if (said === undefined) return "unclear";
  if (!approvals.has(said.replaceAll(/[\s*_`"'.!]+/g, " ").trim())) return "changes";
  return /verdict/i.test(lines.slice(place + 1).join("\n")) ? "unclear" : "approve";
}

/** Marks of lists, headings and emphasis may stand around it; those of a quotation may not. */
const verdictForm = /^[\s\d.*_`#-]{0,16}verdict[*_`]{0,4}[ \t]{0,4}[:-](.{1,200})$/i;

const approvals: ReadonlySet<string> = new Set([
  "approve",
  "approved",
  "approve with minor findings",
]);
