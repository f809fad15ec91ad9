import { consentIn } from "../events/consent.ts";
import { openAskOf } from "../events/delegation.ts";
import { askNumberOf } from "../ports/identity.ts";
import { MandateError } from "../ports/mandate-error.ts";
import type { Store } from "../ports/store.ts";

export type AnswerOutcome =
  | { readonly accepted: true }
  /** Why it does not count, in a sentence; nothing was written. */
  | { readonly accepted: false; readonly reason: string };

type AskSource = Pick<Store, "append" | "findRun" | "readEvents" | "readRun">;

/** What a person can have meant to say; all of it enters the conversation of the one who asked. */
const longestAnswer = 32_000;

/**
 * Answers an ask in the name of a person. The first answer counts; a deadline that passed is one
 * when the log has it, because until then the agent still waits. Throws "unknown-ask", and "usage"
 * for a text that is no answer: to an approval, what is neither yes nor no.
 */
export async function answerAsk(
  store: AskSource,
  askId: string,
  text: string,
): Promise<AnswerOutcome> {
  const runId = askNumberOf(askId) === undefined ? undefined : await store.findRun(askId);
  const run = runId === undefined ? undefined : await store.readRun(runId);
  if (run === undefined) {
    throw new MandateError(
      "unknown-ask",
      `There is no question ${askId}. mandate inbox --open lists those that wait for an answer.`,
    );
  }
  requireAnswer(text);
  const asking = [...run.delegations.values()].find((one) => openAskOf(one)?.id === askId);
  if (asking === undefined) return refused(await whyClosed(store, run.id, askId));
  if (openAskOf(asking)?.kind === "approval") requireConsent(askId, text);
  const payload = { ask_id: askId, answer: text, by: "person" as const };
  try {
    await store.append({
      runId: run.id,
      by: "operator",
      events: [{ type: "agent.answered", sub_agent_id: asking.id, payload }],
    });
    return { accepted: true };
  } catch (error) {
    // Another answer was faster, or the delegation ended in this moment.
    if (!(error instanceof MandateError) || error.code !== "illegal-transition") throw error;
    return refused(await whyClosed(store, run.id, askId));
  }
}

function requireAnswer(text: string): void {
  if (typeof text !== "string" || text.trim() === "") {
    throw new MandateError("usage", "The answer is missing: say something, if only yes or no.");
  }
  if (text.length <= longestAnswer) return;
  throw new MandateError(
    "usage",
    `An answer has at most ${longestAnswer} characters, and this one ${text.length}. Put it into a file of the workspace, and answer with its path.`,
  );
}

/** What is neither would count as a refusal that was not meant. */
function requireConsent(askId: string, text: string): void {
  if (consentIn(text) !== undefined) return;
  throw new MandateError(
    "usage",
    `${askId} is about an approval: answer yes or no. A no may give its reason: "no, because …". It still waits.`,
  );
}

const tooLate = "it waits for no answer any more.";

async function whyClosed(store: AskSource, runId: string, askId: string): Promise<string> {
  for await (const event of store.readEvents({ runId })) {
    if (event.type !== "agent.answered" || event.payload.ask_id !== askId) continue;
    const why = {
      person: "was answered already",
      default: "ran out of time, and its default answered",
      expired: "ran out of time",
    }[event.payload.by];
    return `${askId} ${why}: ${tooLate}`;
  }
  return `The agent that asked ${askId} has ended: ${tooLate}`;
}

function refused(reason: string): AnswerOutcome {
  return { accepted: false, reason };
}
