import type { ElicitRequestFormParams } from "@modelcontextprotocol/server";
import { headOf } from "../../../text.ts";
import { formatSpan } from "../../cli/amounts.ts";
import { printable } from "../../cli/printable.ts";
import type { OpenQuestion } from "./open-question.ts";

const longestAnswer = 20_000;

/** What a client shows to its person. The question is an agent's own words, and says so. */
export function formFor(question: OpenQuestion, now: number): ElicitRequestFormParams {
  return {
    mode: "form",
    message: describeQuestion(question, now),
    requestedSchema: question.isApproval ? approvalForm : answerForm,
  };
}

const approvalForm: ElicitRequestFormParams["requestedSchema"] = {
  type: "object",
  properties: {
    approve: { type: "string", title: "Allow it?", enum: ["yes", "no"] },
  },
  required: ["approve"],
};

const answerForm: ElicitRequestFormParams["requestedSchema"] = {
  type: "object",
  properties: {
    answer: { type: "string", title: "Your answer", maxLength: longestAnswer },
  },
  required: ["answer"],
};

function describeQuestion(question: OpenQuestion, now: number): string {
  const { delegationId, deadlineAt, default: fallback, isApproval, who } = question;
  const text = printable(question.question);
  const left = formatSpan(Math.max(0, deadlineAt - now));
  const then = fallback === null ? "" : ` Without an answer it takes: ${printable(fallback)}`;
  const what = isApproval ? "waits for your approval" : "asks";
  return `The sub-agent ${printable(who)} ${delegationId} ${what} (${left} left):\n\n${text}${then && `\n\n${then.trim()}`}`;
}

/**
 * The answer in a client's response; undefined when the person gave none: the question then stays
 * in the inbox, until its deadline.
 */
export function readReply(question: OpenQuestion, response: unknown): string | undefined {
  if (!isRecord(response) || response["action"] !== "accept") return undefined;
  const content = response["content"];
  if (!isRecord(content)) return undefined;
  const said = content[question.isApproval ? "approve" : "answer"];
  if (typeof said !== "string") return undefined;
  if (question.isApproval) return said === "yes" || said === "no" ? said : undefined;
  const text = headOf(said, longestAnswer).toWellFormed();
  return text.trim() === "" ? undefined : text;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
