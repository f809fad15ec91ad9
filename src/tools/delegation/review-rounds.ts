import type { Delegator } from "../../ports/delegator.ts";
import { headOf } from "../../text.ts";
import type { ToolResult } from "../tool.ts";
import { reviewTask, verdictIn } from "./review-task.ts";

/** The number of whole series when no verdict is final. */
const patience = 3;

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
  if (made >= rounds * patience) {
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
  const result = (await delegator.join([id], undefined)).get(id);
  delegator.delivered([id]);
  const round = made + 1;
  if (result?.status !== "completed") {
    const problem = `the review failed: ${result?.result ?? "it did not end"}`;
    // One that fails each time must not be asked without end.
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
  // A default answers questions; whether this is good enough is for a person to say.
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
