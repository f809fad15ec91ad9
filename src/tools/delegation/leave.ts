import { z } from "zod";
import { defineTool } from "../tool.ts";
import { exitTool } from "./delegation-call.ts";
import { handInForReview } from "./review.ts";

/** The ways a delegation can end itself, and the way it can ask before it does. */
export const completeTaskTool = defineTool({
  name: "complete_task",
  description: "End your work and hand in its result. Call it once, when everything is done.",
  ...exitTool,
  input: z.strictObject({
    summary: z.string().min(1).describe("What was done and found: this is what your caller reads."),
    outputs: z.unknown().optional().describe("Structured output, when it was asked for."),
    confidence: z.number().min(0).max(1).optional().describe("From 0 to 1."),
  }),
  ends: handedIn,
  execute: (input) => ({ text: "Handed in.", exit: handedIn(input) }),
});

function handedIn(input: {
  summary: string;
  outputs?: unknown;
  confidence?: number | undefined;
}): string {
  const { summary, outputs, confidence } = input;
  return outputs === undefined ? summary : JSON.stringify({ summary, outputs, confidence });
}

export const submitForReviewTool = defineTool({
  name: "submit_for_review",
  description:
    "Hand your work in for review. It ends your work, or comes back with what is to be changed.",
  ...exitTool,
  waits: true,
  mayComeBack: true,
  input: z.strictObject({
    message: z.string().min(1).describe("What to review, and what to look at."),
  }),
  ends: ({ message }) => message,
  async execute({ message }, { delegator }) {
    const reviewed = await handInForReview(message, delegator);
    return reviewed ?? { text: "Handed in for review.", exit: message };
  },
});

export const askUserTool = defineTool({
  name: "ask_user",
  description: "Ask the person who runs this a question and wait for the answer.",
  ...exitTool,
  waits: true,
  // Where the exit rule names it, the question is the end, and the caller is the one who answers.
  ends: ({ message }) => message,
  isAlsoUseful: true,
  input: z.strictObject({
    message: z.string().min(1).max(16_000).describe("One question, complete in itself."),
  }),
  async execute({ message }, { delegator }) {
    const outcome = await delegator.ask(message);
    if (!outcome.answered) {
      return {
        text: "Error: no answer came in time. Decide yourself, or stop and say what is missing.",
        isError: true,
      };
    }
    return outcome.by === "default"
      ? `No answer came in time; the default is: ${outcome.answer}`
      : outcome.answer;
  },
});
