import { consentIn } from "../events/consent.ts";
import { openAskOf } from "../events/delegation.ts";
import { askNumberOf } from "../ports/identity.ts";
import { MandateError } from "../ports/mandate-error.ts";
import type { Store } from "../ports/store.ts";

export type AnswerOutcome =
  | { readonly accepted: true }
  /** Why the answer was not accepted; nothing was written. */
  | { readonly accepted: false; readonly reason: string };

type AskSource = Pick<Store, "append" | "findRun" | "readEvents" | "readRun">;

/** The whole answer enters the conversation of the asking agent. */
const longestAnswer = 32_000;

/**
 * Answers an ask as a person. The first answer counts; an expired deadline counts once it is in the log,
 * because the agent waits until then. Throws "unknown-ask", and "usage" for an empty or too long text, or
 * for an answer to an approval that is neither yes nor no.
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
    throw new MandateError("usage", "The answer is empty. Give a text, for instance yes or no.");
  }
  if (text.length <= longestAnswer) return;
  throw new MandateError(
    "usage",
    `An answer has at most ${longestAnswer} characters, and this one has ${text.length}. Put it into a file in the workspace, and answer with its path.`,
  );
}

/** Anything else would count as an unintended refusal. */
function requireConsent(askId: string, text: string): void {
  if (consentIn(text) !== undefined) return;
  throw new MandateError(
    "usage",
    `Answer yes or no; a no may give a reason: "no, because …". ${askId} stays open.`,
  );
}

const tooLate = "it no longer waits for an answer.";

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
