import type { Delegator } from "../../ports/delegator.ts";
import type { ToolResult } from "../tool.ts";
import { reviewTask, verdictIn } from "./review-task.ts";

/**
 * Work that is handed in goes to a reviewer first. Changes that it asks for come back to whoever
 * did the work, a few times; then a person decides. Nothing is accepted because nobody looked.
 */
export async function handInForReview(
  message: string,
  delegator: Delegator,
): Promise<ToolResult | undefined> {
  const { review } = delegator;
  if (review === null) return undefined;
  const changes = await delegator.changes();
  if ("problem" in changes) return failed(changes.problem);
  const outcome = await delegator.start(
    { profile: review.profile, key: "review", ...reviewTask({ focus: message, changes }) },
    "delegate",
  );
  if (!outcome.started) return failed(`no review can be made: ${outcome.reason}`);
  const { delegationId: id } = outcome;
  const result = (await delegator.join([id], undefined)).get(id);
  delegator.delivered([id]);
  if (result?.status !== "completed") {
    return failed(`the review failed: ${result?.result ?? "it did not end"}`);
  }
  if (verdictIn(result.result) === "approve") return { text: "Approved.", exit: message };
  const round = review.made + 1;
  if (round < review.rounds) {
    return {
      text: `The reviewer asks for changes (${round} of ${review.rounds}). Mend this, then hand it in again.\n\n${result.result}`,
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
  const question = `After ${round} reviews the reviewer still asks for changes to: ${message}\n\n${report.slice(0, 2000)}\n\nAnswer "accept" to take it as it is, or say what to do.`;
  const outcome = await delegator.ask(question);
  if (!outcome.answered) return failed("the reviewer still asks for changes, and nobody decided");
  const isAccepted = outcome.by === "person" && /^accept(?:ed)?[.!]?$/i.test(outcome.answer.trim());
  if (isAccepted) return { text: "Accepted by a person.", exit: message };
  return { text: `A person says: ${outcome.answer}\n\nThe reviewer said:\n${report}` };
}

function failed(reason: string): ToolResult {
  return { text: `Error: ${reason}`, isError: true };
}
