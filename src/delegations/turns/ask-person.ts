import { consentIn } from "../../events/consent.ts";
import { type OpenAsk, openAskOf } from "../../events/delegation.ts";
import type { AskOutcome } from "../../ports/delegator.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { askKey, event, type LiveDelegation } from "../live-delegation.ts";

/**
 * Asks the person who started the run, and waits for an answer, the deadline, or the close of the
 * delegation. At the deadline the default is the answer; without a default the question is unanswered.
 */
export function askPerson(agent: LiveDelegation, question: Question): Promise<AskOutcome> {
  const answered = keysOf(question).flatMap((key) => agent.said.answerTo(key) ?? [])[0];
  if (answered) return Promise.resolve(answered);
  const asking = agent.process.inOrder.asking.then(() => ask(agent, question));
  agent.process.inOrder.asking = asking.catch(() => undefined);
  return asking;
}

type Question = Pick<OpenAsk, "about" | "callId" | "kind" | "question">;

/** What earlier versions asked is known by its words alone. */
function keysOf({ about, ...question }: Question): readonly string[] {
  return about === undefined
    ? [askKey(question)]
    : [askKey({ about, ...question }), askKey(question)];
}

async function ask(agent: LiveDelegation, asked: Question): Promise<AskOutcome> {
  const { run } = agent;
  const { clock, limits, store } = run.parts;
  const openAsk = openAskOf(agent.state);
  const open = openAsk && keysOf(asked).includes(askKey(openAsk)) ? openAsk : null;
  const id = open?.id ?? store.newAskId();
  const deadlineAt = open?.deadlineAt ?? clock.now() + limits.askDeadlineMs;
  // A default answers questions; that a call may be made is for a person to say.
  const fallback = open ? open.default : asked.kind === undefined ? limits.askDefault : null;
  const answer = new Promise<AskOutcome>((resolve) => run.asks.set(id, resolve));
  if (!open) {
    agent.record(
      event(agent, "agent.asked", {
        ask_id: id,
        call_id: asked.callId,
        ...(asked.kind && { kind: asked.kind }),
        ...(asked.about !== undefined && { about: asked.about }),
        question: asked.question,
        deadline_at: deadlineAt,
        default: fallback,
      }),
    );
  }
  const wait = Math.max(0, Math.min(deadlineAt - clock.now(), limits.askDeadlineMs));
  const timer = clock.after(wait, () => void expire(agent, id, fallback));
  agent.process.asksOpen++;
  try {
    return await agent.work.interruptible(answer);
  } finally {
    agent.process.asksOpen--;
    timer.cancel();
    run.asks.delete(id);
  }
}

/** The store may have room again in a moment: the expiry is written then. */
const passing: ReadonlySet<string> = new Set(["storage-full", "database-unusable"]);

async function expire(
  agent: LiveDelegation,
  askId: string,
  fallback: string | null,
): Promise<void> {
  const by = fallback === null ? "expired" : "default";
  try {
    await agent.run.append([
      event(agent, "agent.answered", { ask_id: askId, answer: fallback, by }),
    ]);
  } catch (error) {
    // The question was answered in the last moment, or the delegation closed: that event settles it.
    if (agent.process.end.isEnding || (error instanceof MandateError && !passing.has(error.code)))
      return;
    agent.run.parts.clock.after(1000, () => void expire(agent, askId, fallback)).unref();
  }
}

/** Only a person can consent, and only explicitly. */
export function isConsent(outcome: AskOutcome): boolean {
  return outcome.answered && outcome.by === "person" && consentIn(outcome.answer) === "yes";
}
