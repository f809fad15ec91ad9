import { requireRole } from "../../../control/records/principal.ts";
import { quote } from "../../../control/records/shown-text.ts";
import { reviewTask } from "../../../tools/delegation/review-task.ts";
import { defineCommand } from "../command.ts";
import { startWork } from "./start-work.ts";

/** `main`, `main..topic`, `HEAD~3`: what git calls it is found out later, what it is not is refused. */
const rangeForm = /^[A-Za-z0-9_][\w./~^@{}-]{0,400}$/;

export const review = defineCommand<{ readonly range?: string }>({
  name: "review",
  form: "[range]",
  about: "Has a reviewer judge what is not committed yet, or a range of commits: main..topic.",
  profile: "reviewer",
  parse(rest) {
    if (rest === "") return {};
    if (rangeForm.test(rest)) return { range: rest };
    return { problem: `${quote(rest)} is no range of commits, such as main..topic.` };
  },
  async execute({ range }, { steering }, principal) {
    // Before the work of making a diff.
    requireRole("start-work", principal);
    const changes = await steering.changes(range);
    if (changes.text === "") {
      return { reply: "There is nothing to review: no change was found.", data: null };
    }
    const request = { profile: "reviewer", command: "/review", ...reviewTask({ changes }) };
    return startWork(steering, request, principal);
  },
});
