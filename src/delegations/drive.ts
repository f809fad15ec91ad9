import { describeCause, labelOfCause } from "../events/cause.ts";
import type { SentMessage } from "../events/event.ts";
import { sha256 } from "../events/hash-chain.ts";
import { type ChildName, describeReminder, type Reminder } from "../events/reminder.ts";
import type { SessionChildren } from "../sessions/session-children.ts";
import { closeWith } from "./ends/close.ts";
import { unfinished } from "./ends/closing-events.ts";
import { type Ending, failure, retryable, Stopped, Suspended } from "./ends/ending.ts";
import { event, type LiveDelegation, openChildren } from "./live-delegation.ts";
import { type AfterAttempt, afterAttempt, type Command, next } from "./next.ts";
import { askPerson } from "./turns/ask-person.ts";
import { sessionChildrenOf } from "./turns/caller.ts";
import { performCalls } from "./turns/perform-calls.ts";
import { takeProgramTurn } from "./turns/program-turn.ts";
import { backoff, bestSoFar, hasRoomFor, takeTurn } from "./turns/take-turn.ts";

/** Works on a delegation, attempt after attempt, until it closes. */
export async function drive(live: LiveDelegation): Promise<void> {
  const of = live.contract.execution.max_retries + 1;
  for (;;) {
    let ending: Ending | null = null;
    // This is no function of its own: each waiting function costs memory for every waiting delegation.
    try {
      while (ending === null) {
        const command = commandFor(live);
        if (command.do === "ask-model") await readNews(live);
        ending = (await carryOut(live, command)) ?? null;
      }
      // After a suspension the outcome is decided again, from the log.
      if (live.work.suspension !== null) throw live.work.suspension;
    } catch (error) {
      ending = outOfTime(live, error);
    }
    const { attempt } = live.state;
    const after = judgeAttempt(live, ending);
    if (after.do === "close") {
      // The output arrived just in time, or another attempt would not help.
      live.work.cut = null;
      await closeWith(live, after.ending);
      return;
    }
    // An attempt that took too long has waited enough, and leaves open calls behind.
    const isCut = live.work.cut !== null;
    const delay = isCut ? 0 : backoff(live.run.parts, attempt);
    live.record(
      ...(isCut ? unfinished(live) : []),
      event(live, "agent.retried", {
        what: "attempt",
        cause: after.cause,
        reason: `${labelOfCause(after.cause)}: ${describeCause(after.cause)}`,
        delay_ms: Math.round(delay),
      }),
    );
    if (!isCut) await live.process.time.withoutSlot(live.work.sleep(delay));
    live.work.cut = null;
    live.record(event(live, "agent.subagent_attempt", { attempt: attempt + 1, of }));
    live.process.time.nextAttempt();
  }
}

/** The only attempt of a watcher at what it was shown. */
export async function watchOnce(live: LiveDelegation): Promise<Ending> {
  let ending: Ending | null = null;
  while (ending === null) {
    const command = commandFor(live);
    if (command.do === "ask-model") await readNews(live);
    ending = (await carryOut(live, command)) ?? null;
  }
  const after = judgeAttempt(live, ending);
  return after.do === "close" ? after.ending : failure(after.cause);
}

function judgeAttempt(live: LiveDelegation, ending: Ending): AfterAttempt {
  const { attempt, overrun } = live.state;
  const about = { attempt, isOverrun: overrun === true };
  return afterAttempt(ending, about, live.contract, () => bestSoFar(live));
}

/** An attempt whose time is over ends like one that failed; what ended the delegation is thrown. */
function outOfTime({ work }: LiveDelegation, error: unknown): Ending {
  const { cut, stopReason } = work;
  if (cut === null || stopReason !== null || !(error instanceof Stopped)) throw error;
  if (cut instanceof Suspended) throw cut;
  return retryable(cut.cause);
}

function commandFor(live: LiveDelegation): Command {
  const { contract, said } = live;
  return next({ contract, transcript: said.transcript, running: childrenAtWork(live) });
}

type Outcome = Ending | null | undefined;

/** Carries out one command and records what happened, until something ends the attempt. */
function carryOut(live: LiveDelegation, command: Command): Outcome | Promise<Outcome> {
  switch (command.do) {
    case "say":
      say(live, command.from, command.reminder);
      return null;
    case "perform-calls":
      return performCalls(live);
    case "ask-person":
      return askWhatNext(live, command.question);
    case "end":
      return unlessAddressed(live, command.ending);
    case "ask-model": {
      const { runner } = live.contract;
      return runner === undefined ? takeTurn(live) : takeProgramTurn(live, runner);
    }
    default:
      return command satisfies never;
  }
}

/** Null: a message arrived before the answer was handed in, and another turn reads it. */
async function unlessAddressed(live: LiveDelegation, ending: Ending): Promise<Ending | null> {
  const isOutput = ending.kind === "output" && !ending.truncated;
  return isOutput && (await deliverMail(live, true)) ? null : ending;
}

/** Before a request: messages, and which background children have ended. */
async function readNews(live: LiveDelegation): Promise<void> {
  // A replay has the lines that were recorded.
  const session = live.run.parts.models.recorded ? null : sessionChildrenOf(live);
  if (session !== null) await tellOfEnded(live, session);
  await deliverMail(live);
  live.work.throwIfStopped();
}

function childrenAtWork(live: LiveDelegation): readonly ChildName[] {
  const { endsWithAnswer } = live.run.parts;
  if (live.process.children.length === 0 || endsWithAnswer?.(live.id)) return none;
  return openChildren(live).map(({ contract, id }) => {
    return { id, profile: contract.profile.id, title: contract.step.title };
  });
}

const none: readonly never[] = Object.freeze([]);

/** A delegation that does not keep its exit rule: a person says what to do, or it fails. */
async function askWhatNext(live: LiveDelegation, question: string): Promise<Ending | null> {
  const callId = `exit-${live.state.turns}`;
  const waiting = askPerson(live, { callId, about: sha256(callId), question });
  const outcome = await live.process.time.withoutSlot(waiting);
  // A default answers a question of the agent; here it does not keep its exit rule.
  if (!outcome.answered || outcome.by !== "person") {
    const { tools } = live.contract.exit;
    return failure({ code: "exit_unanswered", tools });
  }
  say(live, "person", outcome.answer);
  return null;
}

/** Writes one line for each background child of an earlier message that has ended since. */
async function tellOfEnded(live: LiveDelegation, session: SessionChildren): Promise<void> {
  for (const { id, profile, title, ...ended } of await session.ended()) {
    const outcome = ended.status === "closed" ? ended.finalStatus : "failed";
    const cause = { code: "child_ended", child: { id, profile, title }, outcome } as const;
    const said = { from: "background", severity: "info", cause } as const;
    live.record(event(live, "agent.interjected", { ...said, message: describeReminder(cause) }));
  }
}

/** Tells the model something, after refusing calls that were cut together with the answer. */
function say(live: LiveDelegation, from: string, what: string | Reminder): void {
  const said =
    typeof what === "string" ? { message: what } : { cause: what, message: describeReminder(what) };
  live.record(
    ...live.said.transcript.pending.map(({ call }) =>
      event(live, "agent.tool_denied", {
        call_id: call.id,
        tool: call.name,
        rule: "answer_cut",
        error: "The answer was cut before this call was complete; it was not made.",
      }),
    ),
    event(live, "agent.interjected", { from, severity: "warn", ...said }),
  );
}

/**
 * Records the messages to a delegation in its conversation, in order; true if there were any. The mail
 * is read from the store each time: a message that was acknowledged to its sender is never missed,
 * whichever process stored it. `isAnswered`: the delegation is about to close, so messages are delivered
 * only where the budget allows another turn.
 */
async function deliverMail(live: LiveDelegation, isAnswered = false): Promise<boolean> {
  const { parts } = live.run;
  const mail = await (parts.mailOf ?? mailInLog)(live);
  if (mail.length === 0) return false;
  live.work.throwIfStopped();
  if (isAnswered && parts.mailOf === undefined && !(await hasRoomFor(live, mail))) return false;
  // Messages of other processes are in the log, and not yet in the state of this process.
  const known = new Set(live.state.mail?.map(({ message_id }) => message_id));
  const sent = mail.filter(({ message_id }) => !known.has(message_id));
  live.follow(sent.map((message) => event(live, "agent.message_sent", message)));
  live.record(
    ...mail.map((message) => event(live, "agent.interjected", { severity: "info", ...message })),
  );
  // A message that is not durable yet would be found in the mail again.
  await live.process.appends.durable();
  return true;
}

function mailInLog({
  id,
  process,
  run,
}: LiveDelegation): readonly SentMessage[] | Promise<readonly SentMessage[]> {
  // A message needs a delegation that its sender can find in the log.
  if (!process.appends.isKnown) return none;
  return run.parts.store.readRun(run.id).then(
    (state) => state?.delegations.get(id)?.mail ?? none,
    // If the log cannot be read, it cannot be written either: the next append reports that.
    () => none,
  );
}
