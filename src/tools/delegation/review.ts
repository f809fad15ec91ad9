import { z } from "zod";
import { nameList, namesIn } from "../../agents/documents/tool-input.ts";
import type { DelegationRequest, Delegator } from "../../ports/delegator.ts";
import { headOf } from "../../text.ts";
import { defineTool, type ToolResult } from "../tool.ts";
import {
  childTool,
  delegateAbout,
  fitResult,
  joinedOutput,
  refusedStart,
} from "./delegation-call.ts";

const reviewer = "reviewer";

export const requestReviewTool = defineTool({
  name: "request_review",
  description:
    "Run a reviewer over changes, read-only, and wait for its verdict. Name paths, a range of commits, or nothing for uncommitted changes.",
  ...childTool,
  waits: true,
  about: (_input, context) => delegateAbout(reviewer, context),
  input: z.strictObject({
    paths: nameList.optional().describe("Files or folders."),
    range: z.string().min(1).max(256).optional().describe("Commits, such as main..HEAD."),
    focus: z.string().max(4000).optional().describe("What matters most, and the change's purpose."),
  }),
  async execute({ focus, range, ...given }, { delegator }) {
    const paths = given.paths === undefined ? undefined : namesIn(given.paths);
    const changes = paths === undefined ? await delegator.changes(range) : undefined;
    if (changes !== undefined && "problem" in changes) {
      return { text: `Error: ${changes.problem}`, isError: true };
    }
    if (changes?.text === "") return "There is nothing to review: no change was found.";
    const outcome = await delegator.start(
      { profile: reviewer, ...reviewTask({ focus, paths, changes }) },
      "delegate",
    );
    if (!outcome.started) return refusedStart(outcome);
    return delegator.results.joinAndComplete(outcome.delegationId, (result) =>
      joinedOutput(result, fitResult(result, delegator.results.joinTokens)),
    );
  },
});

/** After so many series of reviews without an approval, no further one is made. */
const mostSeries = 3;

/**
 * Work that is handed in goes to a reviewer first. Changes that it asks for come back to the agent that
 * did the work, a few times; then a person decides. Nothing is accepted without a review.
 */
export async function handInForReview(
  message: string,
  delegator: Delegator,
): Promise<ToolResult | undefined> {
  const { review } = delegator;
  if (review === null) return undefined;
  const { made, rounds } = review;
  if (made >= rounds * mostSeries) {
    return failed(
      `it was reviewed ${made} times, and cannot be handed in again. Say what is missing.`,
    );
  }
  const changes = await delegator.changes();
  if ("problem" in changes) return failed(changes.problem);
  const outcome = await delegator.start(
    { profile: review.profile, key: "review", ...reviewTask({ focus: message, changes }) },
    "delegate",
  );
  if (!outcome.started) return failed(`no review can be made: ${outcome.reason}`);
  const { delegationId: id } = outcome;
  const result = (await delegator.results.join([id], undefined)).get(id);
  delegator.results.delivered([id]);
  const round = made + 1;
  if (result?.status !== "completed") {
    const problem = `the review failed: ${result?.result ?? "it did not end"}`;
    // A review that always fails must not be repeated without end.
    if (round < rounds) return failed(problem);
    return decideByPerson(message, problem, round, delegator);
  }
  const verdict = verdictIn(result.result);
  if (verdict === "approve") return { text: "Approved.", exit: message };
  if (round < rounds) {
    const said =
      verdict === "changes" ? "asks for changes" : "gave no verdict, so nothing is approved";
    return {
      text: `The reviewer ${said} (${round} of ${rounds}). Fix this, then hand it in again.\n\n${result.result}`,
    };
  }
  return decideByPerson(message, result.result, round, delegator);
}

async function decideByPerson(
  message: string,
  report: string,
  round: number,
  delegator: Delegator,
): Promise<ToolResult> {
  const question = `After ${round} reviews nothing is approved yet. It was handed in with: ${headOf(message, 500)}\n\nThe last review: ${headOf(report, 2000)}\n\nAnswer "accept" to take it as it is, or say what to do.`;
  const outcome = await delegator.ask(question);
  // A default may answer a question, but only a person may accept work.
  if (!outcome.answered || outcome.by !== "person") {
    return failed("no reviewer has approved it, and no person decided");
  }
  const isAccepted = /^accept(?:ed)?[.!]?$/i.test(outcome.answer.trim());
  if (isAccepted) return { text: "Accepted by a person.", exit: message };
  return { text: `A person says: ${outcome.answer}\n\nThe reviewer said:\n${report}` };
}

function failed(reason: string): ToolResult {
  return { text: `Error: ${reason}`, isError: true };
}

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

type ReviewVerdict = "approve" | "changes" | "unclear";

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
