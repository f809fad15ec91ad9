import { type Consent, consentIn, reasonIn } from "../../events/consent.ts";
import { type OpenAsk, openAskOf } from "../../events/delegation.ts";
import type { AskOutcome } from "../../ports/delegator.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { askKey, event, type LiveDelegation } from "../live-delegation.ts";

/**
 * Asks the person who started the run, and waits for an answer, the deadline, or the close of the
 * delegation. At the deadline the default is the answer; without a default the question is unanswered.
 */
export function askPerson(live: LiveDelegation, question: Question): Promise<AskOutcome> {
  const answered = keysOf(question).flatMap((key) => live.said.answerTo(key) ?? [])[0];
  if (answered) return Promise.resolve(answered);
  const asking = live.process.inOrder.asking.then(() => ask(live, question));
  live.process.inOrder.asking = asking.catch(() => undefined);
  return asking;
}

type Question = Pick<OpenAsk, "about" | "callId" | "kind" | "question">;

/** What earlier versions asked is known by its words alone. */
function keysOf({ about, ...question }: Question): readonly string[] {
  return about === undefined
    ? [askKey(question)]
    : [askKey({ about, ...question }), askKey(question)];
}

async function ask(live: LiveDelegation, asked: Question): Promise<AskOutcome> {
  const { run } = live;
  const { clock, limits, store } = run.parts;
  const openAsk = openAskOf(live.state);
  const open = openAsk && keysOf(asked).includes(askKey(openAsk)) ? openAsk : null;
  const id = open?.id ?? store.newAskId();
  const deadlineAt = open?.deadlineAt ?? clock.now() + limits.askDeadlineMs;
  // A default answers questions; that a call may be made is for a person to say.
  const fallback = open ? open.default : asked.kind === undefined ? limits.askDefault : null;
  const answer = new Promise<AskOutcome>((resolve) => run.asks.set(id, resolve));
  if (!open) {
    live.record(
      event(live, "agent.asked", {
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
  const timer = clock.after(wait, () => void expire(live, id, fallback));
  live.process.asksOpen++;
  try {
    return await live.work.interruptible(answer);
  } finally {
    live.process.asksOpen--;
    timer.cancel();
    run.asks.delete(id);
  }
}

/** The store may have room again in a moment: the expiry is written then. */
const passing: ReadonlySet<string> = new Set(["storage-full", "database-unusable"]);

async function expire(live: LiveDelegation, askId: string, fallback: string | null): Promise<void> {
  const by = fallback === null ? "expired" : "default";
  try {
    await live.run.append([event(live, "agent.answered", { ask_id: askId, answer: fallback, by })]);
  } catch (error) {
    // The question was answered in the last moment, or the delegation closed: that event settles it.
    if (live.process.end.isEnding || (error instanceof MandateError && !passing.has(error.code)))
      return;
    live.run.parts.clock.after(1000, () => void expire(live, askId, fallback)).unref();
  }
}

/** Only a person can consent, and only explicitly. */
export function consentOf(outcome: AskOutcome): Consent {
  if (!outcome.answered || outcome.by !== "person") return { approved: false };
  if (consentIn(outcome.answer) === "yes") return { approved: true };
  const said = reasonIn(outcome.answer);
  return { approved: false, ...(said !== undefined && { said }) };
}
