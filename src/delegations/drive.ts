import {
  type ChildName,
  closeReasonOf,
  describeCause,
  describeReminder,
  type Reminder,
} from "../events/cause.ts";
import { sha256 } from "../events/hash-chain.ts";
import { closeWith } from "./ends/close.ts";
import { unfinished } from "./ends/closing-events.ts";
import { type Ending, failure, Stopped, Suspended } from "./ends/ending.ts";
import { event, type LiveDelegation, openChildren } from "./live-delegation.ts";
import { deliverMail } from "./messages.ts";
import { type AfterAttempt, afterAttempt, next } from "./next.ts";
import { type SessionChildren, sessionChildrenOf } from "./session-children.ts";
import { askPerson } from "./turns/ask-person.ts";
import { performCalls } from "./turns/perform-calls.ts";
import { backoff, bestSoFar, takeTurn } from "./turns/take-turn.ts";

/**
 * Works on a delegation until it closes, attempt after attempt: what `next` decides is carried out
 * and recorded, and decided again.
 */
export async function drive(agent: LiveDelegation): Promise<void> {
  const of = agent.contract.execution.max_retries + 1;
  for (;;) {
    let ending: Ending;
    // Not in a function of its own: each one that waits costs memory for every agent that waits.
    try {
      ending = await takeTurns(agent);
      // It is to rest: what it came to is decided again from its log when it continues.
      if (agent.work.suspension !== null) throw agent.work.suspension;
    } catch (error) {
      ending = outOfTime(agent, error);
    }
    const { attempt } = agent.state;
    const after = judgeAttempt(agent, ending);
    if (after.do === "close") {
      // It was just in time, or another attempt would not help.
      agent.work.cut = null;
      await closeWith(agent, after.ending);
      return;
    }
    // An attempt that took too long has waited enough, and leaves what it was doing without an end.
    const isCut = agent.work.cut !== null;
    const delay = isCut ? 0 : backoff(agent.run.parts, attempt);
    agent.record(
      ...(isCut ? unfinished(agent) : []),
      event(agent, "agent.retried", {
        what: "attempt",
        cause: after.cause,
        reason: `${closeReasonOf(after.cause)}: ${describeCause(after.cause)}`,
        delay_ms: Math.round(delay),
      }),
    );
    if (!isCut) await agent.work.sleep(delay);
    agent.work.cut = null;
    agent.record(event(agent, "agent.subagent_attempt", { attempt: attempt + 1, of }));
    agent.process.time.nextAttempt();
  }
}

/** The only attempt of a watcher at what it was shown. */
export async function watchOnce(agent: LiveDelegation): Promise<Ending> {
  const after = judgeAttempt(agent, await takeTurns(agent));
  return after.do === "close" ? after.ending : failure(after.cause);
}

function judgeAttempt(agent: LiveDelegation, ending: Ending): AfterAttempt {
  const { attempt, overrun } = agent.state;
  const about = { attempt, isOverrun: overrun === true };
  return afterAttempt(ending, about, agent.contract, () => bestSoFar(agent));
}

/** An attempt whose time is over ends like one that failed; what ended the delegation is thrown. */
function outOfTime({ work }: LiveDelegation, error: unknown): Ending {
  const { cut, stopReason } = work;
  if (cut === null || stopReason !== null || !(error instanceof Stopped)) throw error;
  if (cut instanceof Suspended) throw cut;
  return failure(cut.cause, true);
}

/** One attempt, until something ends it. */
async function takeTurns(agent: LiveDelegation): Promise<Ending> {
  const { contract } = agent;
  for (;;) {
    const { transcript } = agent.said;
    const command = next({ contract, transcript, running: childrenAtWork(agent) });
    switch (command.do) {
      case "say":
        say(agent, command.from, command.reminder);
        break;
      case "perform-calls":
        await performCalls(agent, transcript.withdrawn);
        break;
      case "ask-person": {
        const ending = await askWhatNext(agent, command.question);
        if (ending) return ending;
        break;
      }
      case "end":
        if (await isPutOff(agent, command.ending)) break;
        return command.ending;
      case "ask-model": {
        const telling = tellOfEnded(agent);
        if (telling) await telling;
        await deliverMail(agent);
        agent.work.throwIfStopped();
        const ending = await takeTurn(agent);
        if (ending) return ending;
        break;
      }
      default:
        return command satisfies never;
    }
  }
}

function childrenAtWork(agent: LiveDelegation): readonly ChildName[] {
  const { endsWithAnswer } = agent.run.parts;
  if (agent.process.children.length === 0 || endsWithAnswer?.(agent.id)) return none;
  return openChildren(agent).map(({ contract, id }) => {
    return { id, profile: contract.profile.id, title: contract.step.title };
  });
}

const none: readonly ChildName[] = Object.freeze([]);

/** A message arrived before the answer was handed in: the agent takes another turn for it. */
async function isPutOff(agent: LiveDelegation, ending: Ending): Promise<boolean> {
  if (ending.kind !== "output" || ending.truncated) return false;
  return deliverMail(agent, true);
}

/** One that will not keep its exit rule: a person says what it shall do, or it fails. */
async function askWhatNext(agent: LiveDelegation, question: string): Promise<Ending | null> {
  const callId = `exit-${agent.state.turns}`;
  const waiting = askPerson(agent, { callId, about: sha256(callId), question });
  agent.process.time.giveSlot();
  const outcome = await waiting;
  const back = agent.process.time.takeSlot();
  if (back) await agent.work.interruptible(back);
  // A default answers a question of the agent; here it does not keep its exit rule.
  if (!outcome.answered || outcome.by !== "person") {
    const { tools } = agent.contract.exit;
    return failure({ code: "exit_unanswered", tools });
  }
  say(agent, "person", outcome.answer);
  return null;
}

/** One line for each background child of an earlier message that has ended since. */
function tellOfEnded(agent: LiveDelegation): Promise<void> | undefined {
  // A replay has the lines that were recorded.
  if (agent.run.parts.models.recorded !== undefined) return undefined;
  const session = sessionChildrenOf(agent);
  return session === null ? undefined : tell(agent, session);
}

async function tell(agent: LiveDelegation, session: SessionChildren): Promise<void> {
  for (const { id, profile, title, ...ended } of await session.ended()) {
    const outcome = ended.status === "closed" ? ended.finalStatus : "failed";
    const cause = { code: "child_ended", child: { id, profile, title }, outcome } as const;
    const said = { from: "background", severity: "info", cause } as const;
    agent.record(event(agent, "agent.interjected", { ...said, message: describeReminder(cause) }));
  }
}

/** Tells the model something, after refusing calls that were cut together with the answer. */
function say(agent: LiveDelegation, from: string, what: string | Reminder): void {
  const said =
    typeof what === "string" ? { message: what } : { cause: what, message: describeReminder(what) };
  agent.record(
    ...agent.said.transcript.pending.map(({ call }) =>
      event(agent, "agent.tool_denied", {
        call_id: call.id,
        tool: call.name,
        rule: "answer_cut",
        error: "The answer was cut before this call was complete; it was not made.",
      }),
    ),
    event(agent, "agent.interjected", { from, severity: "warn", ...said }),
  );
}
