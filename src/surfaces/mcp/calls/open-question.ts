import type { ElicitRequestFormParams } from "@modelcontextprotocol/server";
import { openAskOf, shownName } from "../../../events/delegation.ts";
import type { RunState } from "../../../events/run-state.ts";
import { headOf } from "../../../text.ts";
import { formatSpan } from "../../cli/amounts.ts";
import { printable } from "../../cli/printable.ts";

/** An open question of an agent, at any depth. */
export interface OpenQuestion {
  readonly id: string;
  readonly runId: string;
  readonly delegationId: string;
  readonly who: string;
  readonly question: string;
  /** The question asks for approval of a call or a merge, which only a person can give. */
  readonly isApproval: boolean;
  readonly deadlineAt: number;
  readonly default: string | null;
  /** The asking delegation and all above it. */
  readonly line: readonly string[];
}

export function openQuestions(run: RunState): readonly OpenQuestion[] {
  return [...run.delegations.values()].flatMap((delegation) => {
    const ask = openAskOf(delegation);
    if (ask === null) return [];
    return {
      id: ask.id,
      runId: run.id,
      delegationId: delegation.id,
      who: shownName(delegation),
      question: ask.question,
      isApproval: ask.kind === "approval",
      deadlineAt: ask.deadlineAt,
      default: ask.default,
      line: lineOf(run, delegation.id),
    };
  });
}

function lineOf(run: RunState, id: string): readonly string[] {
  const line: string[] = [];
  for (let at: string | null = id; at !== null; at = run.delegations.get(at)?.parentId ?? null) {
    line.push(at);
  }
  return line;
}

const longestAnswer = 20_000;

/** The form that a client shows to its user. It names the agent whose words the question is. */
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
 * The answer in a client's response; undefined: no answer was given, and the question stays in the inbox
 * until its deadline.
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
