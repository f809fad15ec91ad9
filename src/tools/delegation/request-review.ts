import { z } from "zod";
import { noExposure } from "../../contracts/exposure.ts";
import { defineTool } from "../tool.ts";
import { delegateAbout } from "./delegate-about.ts";
import { fitResult, joinedOutput } from "./fit-result.ts";
import { refusedStart } from "./refused-start.ts";
import { reviewTask } from "./review-task.ts";

const reviewer = "reviewer";

export const requestReviewTool = defineTool({
  name: "request_review",
  description:
    "Have a reviewer look at changes, read-only, and wait for its verdict. Say what to look at: paths, a range of commits (main..HEAD), or nothing for what is not committed yet.",
  effect: "spawn",
  exposure: noExposure,
  idempotent: true,
  scopes: [],
  changes: "none",
  waits: true,
  about: (_input, context) => delegateAbout(reviewer, context),
  input: z.strictObject({
    paths: z.array(z.string().min(1).max(1024)).max(100).optional(),
    range: z.string().min(1).max(256).optional(),
    focus: z.string().max(4000).optional().describe("What matters most, and what it is for."),
  }),
  async execute({ focus, paths, range }, { delegator }) {
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
    return delegator.joinAndComplete(outcome.delegationId, (result) =>
      joinedOutput(result, fitResult(result, delegator.joinTokens)),
    );
  },
});
