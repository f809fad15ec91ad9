import { consentIn } from "../../events/consent.ts";
import type { OpenAsk } from "../../events/delegation.ts";
import type { AskOutcome } from "../../ports/delegator.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { Agent } from "../agent.ts";
import { event } from "../agent-event.ts";

/**
 * Puts a question to the person behind the run and waits for an answer, the deadline, or the end of
 * the delegation. It never hangs: at the deadline the default answers, or it is known that nobody did.
 */
export function askPerson(
  agent: Agent,
  callId: string,
  question: string,
  kind?: "approval",
): Promise<AskOutcome> {
  const about: Question = { callId, question, ...(kind && { kind }) };
  const answered = agent.answers?.get(askKey(about));
  if (answered) return Promise.resolve(answered);
  const asking = agent.asking.then(() => ask(agent, about));
  agent.asking = asking.catch(() => undefined);
  return asking;
}

type Question = Pick<OpenAsk, "callId" | "kind" | "question">;

/**
 * One call can be asked about twice: whether it may be made, and what it asks itself. After a crash
 * the same call comes again; another question under its id is another question.
 */
export function askKey({ callId, kind, question }: Question): string {
  // The id is the model's own word: no id of one kind may read like one of the other.
  return JSON.stringify([kind ?? "", callId, question]);
}

async function ask(agent: Agent, about: Question): Promise<AskOutcome> {
  const { run } = agent;
  const { clock, limits, store } = run.parts;
  const open = agent.openAsk && askKey(agent.openAsk) === askKey(about) ? agent.openAsk : null;
  const id = open?.id ?? store.newAskId();
  const deadlineAt = open?.deadlineAt ?? clock.now() + limits.askDeadlineMs;
  // A default answers questions; that a call may be made is for a person to say.
  const fallback = open ? open.default : about.kind === undefined ? limits.askDefault : null;
  const answer = new Promise<AskOutcome>((resolve) => run.asks.set(id, resolve));
  if (!open) {
    agent.record(
      event(agent, "agent.asked", {
        ask_id: id,
        call_id: about.callId,
        ...(about.kind && { kind: about.kind }),
        question: about.question,
        deadline_at: deadlineAt,
        default: fallback,
      }),
    );
  }
  const wait = Math.max(0, Math.min(deadlineAt - clock.now(), limits.askDeadlineMs));
  const timer = setTimeout(() => void expire(agent, id, fallback), wait);
  agent.asksOpen++;
  try {
    return await agent.interruptible(answer);
  } finally {
    agent.asksOpen--;
    clearTimeout(timer);
    run.asks.delete(id);
  }
}

/** The store may have room again in a moment; a question must not wait for ever because of that. */
const passing: ReadonlySet<string> = new Set(["storage-full", "database-unusable"]);

async function expire(agent: Agent, askId: string, fallback: string | null): Promise<void> {
  const by = fallback === null ? "expired" : "default";
  try {
    await agent.run.append([
      event(agent, "agent.answered", { ask_id: askId, answer: fallback, by }),
    ]);
  } catch (error) {
    // Somebody answered in the last moment, or the delegation ended: their event settles it.
    if (agent.isEnding || (error instanceof MandateError && !passing.has(error.code))) return;
    setTimeout(() => void expire(agent, askId, fallback), 1000).unref();
  }
}

/** Only a person can consent, and only in so many words. */
export function isConsent(outcome: AskOutcome): boolean {
  return outcome.answered && outcome.by === "person" && consentIn(outcome.answer) === "yes";
}
