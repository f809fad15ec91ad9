import { externalProvider } from "../contracts/contract.ts";
import type { NewEvent } from "../events/event.ts";
import { MandateError } from "../ports/mandate-error.ts";
import { messageOf } from "../ports/message-of.ts";
import { resultOf } from "../sessions/delegation-result.ts";
import type { Agent } from "./agent.ts";
import { event } from "./agent-event.ts";
import { beginWork } from "./begin-work.ts";
import { retireCopy } from "./changes/take-over.ts";
import { closeWith } from "./ends/close.ts";
import { unfinished, unwritten } from "./ends/conclude.ts";
import { type Ending, failure, type OutputEnding, Stopped, Suspended } from "./ends/ending.ts";
import { reload } from "./recovery/hydrate.ts";
import { park } from "./rests/park.ts";
import { isElsewhere, isOurs } from "./spread/elsewhere.ts";
import { askPerson } from "./turns/ask-person.ts";
import { judgeOutput } from "./turns/judge-output.ts";
import { judgeReply, streakLimit } from "./turns/judge-reply.ts";
import { performCalls } from "./turns/perform-calls.ts";
import { settledIfOpen } from "./turns/settle-request.ts";
import { backoff, bestSoFar, takeTurn } from "./turns/take-turn.ts";
import { isWatcher, watch } from "./watchers/watch.ts";

/**
 * An agent's life from its slot to its close. It starts from whatever its transcript says, so a
 * fresh child and one taken up after a crash are the same to it.
 */
export async function work(agent: Agent): Promise<void> {
  const { middleware } = agent.run.parts;
  agent.time.begin();
  try {
    if (middleware.delegation === undefined) {
      await live(agent);
    } else {
      await middleware.delegation(
        {
          runId: agent.run.id,
          delegationId: agent.id,
          parentId: agent.parent?.id ?? null,
          depth: agent.depth,
          contract: agent.contract,
        },
        () => live(agent),
      );
      if (!agent.isEnding)
        throw new Stopped("policy_denied", "The delegation was ended by middleware.");
    }
  } catch (error) {
    await endWork(agent, error);
  } finally {
    agent.time.giveSlot();
  }
}

/** What becomes of an agent whose work ended with this error, or was left because of it. */
export async function endWork(agent: Agent, cause: unknown): Promise<void> {
  if (agent.isEnding) return;
  // Stopped while it was coming to rest: that is why it ends.
  const error = cause instanceof Suspended ? (agent.stopReason ?? cause) : cause;
  if (wasRefused(error)) return reconcileOrGiveUp(agent);
  try {
    if (wasNotWritten(error)) await reloadTree(agent, error);
    else if (agent.suspension && !agent.isParked) return await park(agent, agent.suspension);
    await closeWith(agent, endingOf(error, agent));
  } catch (refusal) {
    if (wasRefused(refusal)) return reconcileOrGiveUp(agent);
    // That its contract was changed is found out here, and is then why it ends.
    if (isTampering(refusal) && !isTampering(error)) return endWork(agent, refusal);
    giveUp(agent, refusal);
  }
}

/** Somebody else wrote first. Where it cannot even be read what they wrote, the agent is given up. */
async function reconcileOrGiveUp(agent: Agent): Promise<void> {
  try {
    await reconcile(agent);
  } catch (error) {
    if (!agent.isEnding) giveUp(agent, error);
  }
}

/** Its end cannot be written now: who waits is told, and the log is as soon as it can be. */
function giveUp(agent: Agent, cause: unknown): void {
  // Its caller must not go on with a result that is in no log: it ends for the same reason.
  agent.parent?.appends.add(Promise.reject(cause));
  abandon(agent, cause);
  const { here, parts, root } = agent.run;
  // Whoever is below ends with it; another program's agent goes on, and does not.
  const isTopmost = agent === root || agent === here || isHeldByProgram(agent.parent);
  if (isTopmost && agent.result !== null) parts.unwritten.add(agent, agent.result);
}

/**
 * Even the end could not be written (a full disk, a lost database): that is done later. Nobody
 * below goes on meanwhile, with what could not be written either, or holds up the process's end.
 */
function abandon(agent: Agent, cause: unknown): void {
  agent.isEnding = true;
  const { abandoned, root, topLevel } = agent.run;
  // Whoever watches ends with the root, as when its end is written.
  const below = [...(agent.children ?? []), ...(agent === root ? topLevel : [])];
  for (const child of below) {
    if (child.isEnding || isElsewhere(child)) continue;
    child.stop("worker_lost", messageOf(cause));
    abandon(child, cause);
  }
  abandoned.push(agent);
  agent.closed(unwritten(agent, cause));
}

/** Somebody else wrote first: the log is right, and memory follows it. */
async function reconcile(agent: Agent): Promise<void> {
  const { run } = agent;
  const state = await run.parts.store.readRun(run.id);
  const delegation = state?.delegations.get(agent.id);
  if (state === undefined || delegation === undefined || !isOurs(agent, state)) {
    run.lost = true;
    agent.isEnding = true;
    run.stir();
    run.left.resolve();
    return;
  }
  const result = resultOf(state, agent.id);
  if (result) {
    agent.isEnding = true;
    agent.closed(result);
    retireCopy(agent);
    return;
  }
  if (++agent.reconciliations > patience) {
    agent.isEnding = true;
    agent.closed(unwritten(agent, new Error("Its log and this process could not agree.")));
    return;
  }
  await reload(agent, delegation);
  agent.record(...settledIfOpen(agent));
  // The calls that come again must find the children they made.
  for (const { id, callId } of state.delegations.values()) {
    const child = run.agents.get(id);
    if (child?.parent === agent && callId !== null) run.byCall.set(`${agent.id} ${callId}`, child);
  }
  await (agent.output ? finish(agent, agent.output) : work(agent));
}

/** Goes on where its output was handed in and nothing had come of it yet. */
export async function finish(agent: Agent, output: OutputEnding): Promise<void> {
  agent.time.beganAt = agent.run.parts.clock.monotonic();
  try {
    await closeWith(agent, output);
  } catch (error) {
    await endWork(agent, error);
  }
}

/** What could not be written did not happen: before it is closed, a tree forgets it. */
async function reloadTree(agent: Agent, cause: unknown): Promise<void> {
  const state = await agent.run.parts.store.readRun(agent.run.id);
  const delegation = state?.delegations.get(agent.id);
  // Not even its creation was: there is nothing to close.
  if (delegation === undefined) throw cause;
  for (const child of agent.children ?? []) {
    if (!child.isEnding && !isElsewhere(child)) await reloadTree(child, cause);
  }
  await reload(agent, delegation);
  // Calls that are still under way must not move what its end is worked out from.
  agent.appends.breakOff(cause);
}

/** What could not be written did not happen: one that goes on all the same does so from its log. */
export async function forgetUnwritten(agent: Agent): Promise<void> {
  if (!wasNotWritten(agent.appends.refusal)) return;
  const state = await agent.run.parts.store.readRun(agent.run.id);
  const delegation = state?.delegations.get(agent.id);
  if (delegation !== undefined) await reload(agent, delegation);
}

function isHeldByProgram(agent: Agent | null): boolean {
  return agent?.contract.model.provider === externalProvider;
}

/** The disk had no room or is broken, or the contract was not the one that it was created with. */
const notWritten: ReadonlySet<string> = new Set(["storage-full", "database-unusable"]);

export function wasNotWritten(error: unknown): boolean {
  return isTampering(error) || (error instanceof MandateError && notWritten.has(error.code));
}

function isTampering(error: unknown): boolean {
  return error instanceof MandateError && error.code === "contract-invalid";
}

/** Others write now and then; one that is refused without end has a fault that reading cannot mend. */
const patience = 20;

/** Our append was not accepted because of what somebody else had written. */
const refusals: ReadonlySet<string> = new Set(["fenced", "illegal-transition", "conflict"]);

function wasRefused(error: unknown): boolean {
  return error instanceof MandateError && refusals.has(error.code);
}

function live(agent: Agent): Promise<void> {
  const of = agent.contract.execution.max_retries + 1;
  beginWork(agent);
  return isWatcher(agent) ? watch(agent, attempt) : attempts(agent, of);
}

async function attempts(agent: Agent, of: number): Promise<void> {
  for (;;) {
    let ending: Ending;
    // Not in a function of its own: each one that waits costs memory for every agent that waits.
    try {
      ending = await attempt(agent);
      // It is to rest: what it came to is worked out again from its log when it goes on.
      if (agent.suspension !== null) throw agent.suspension;
      // It was just in time, or another attempt would not help.
      if (ending.kind === "output" || !ending.retry) agent.cut = null;
    } catch (error) {
      ending = outOfTime(agent, error);
    }
    if (ending.kind !== "failure" || !ending.retry || agent.attempt >= of) {
      await closeWith(agent, ending);
      return;
    }
    // One that took too long has waited enough, and leaves what it was doing without an end.
    const isCut = agent.cut !== null;
    const delay = isCut ? 0 : backoff(agent.run.parts.limits, agent.attempt);
    agent.record(
      ...(isCut ? unfinished(agent) : []),
      event(agent, "agent.retried", {
        what: "attempt",
        reason: `${ending.code}: ${ending.error}`,
        delay_ms: Math.round(delay),
      }),
    );
    if (!isCut) await agent.sleep(delay);
    agent.nextAttempt();
    agent.record(event(agent, "agent.subagent_attempt", { attempt: agent.attempt, of }));
  }
}

/** One whose time is over ends like one that failed; whatever ended the agent itself goes on. */
function outOfTime({ cut, stopReason }: Agent, error: unknown): Ending {
  if (cut === null || stopReason !== null || !(error instanceof Stopped)) throw error;
  if (cut instanceof Suspended) throw cut;
  return failure("timeout", cut.message, true);
}

async function attempt(agent: Agent): Promise<Ending> {
  const ending = await takeTurns(agent);
  return agent.account.isOverrun ? overrunEnding(agent, ending) : ending;
}

/** After an overrun it ends for that, with the best that it has, however its last turn went. */
function overrunEnding(agent: Agent, ending: Ending): Ending {
  // What another model than the contract's said is no result.
  if (ending.kind === "failure") {
    return ending.code === "model_mismatch" ? { ...ending, retry: false } : bestSoFar(agent);
  }
  return { ...ending, truncated: true, reason: "budget_exhausted" };
}

/** Turn after turn until something ends it. */
async function takeTurns(agent: Agent): Promise<Ending> {
  const { transcript } = agent;
  for (;;) {
    const turn = transcript.unjudged;
    if (turn !== null) {
      const following = followTurn(agent, turn);
      const ending = following instanceof Promise ? await following : following;
      if (ending) return ending;
    }
    if (transcript.pending.length > 0) {
      await performCalls(agent, transcript.withdrawn);
      const stuck = streakEnding(agent);
      if (stuck) return stuck;
    }
    if (transcript.exit !== null) {
      const ending = judged(agent, transcript.exit, true, transcript.withdrawn);
      if (ending) return ending;
    }
    agent.throwIfStopped();
    const ending = await takeTurn(agent);
    if (ending) return ending;
  }
}

/** Acts on what the model last said; null when the work goes on. */
function followTurn(
  agent: Agent,
  turn: NewEvent<"agent.model_turn">["payload"],
): Ending | null | Promise<Ending | null> {
  const verdict = judgeReply(turn, agent.contract, agent.transcript);
  switch (verdict.kind) {
    case "act":
      return null;
    case "say":
      say(agent, "runtime", verdict.message);
      return null;
    case "ask":
      return askWhatNext(agent, verdict.question);
    case "fail":
      return failure(verdict.code, verdict.error, verdict.retry);
    case "output":
      return judged(agent, verdict.text, false, turn.last === true);
    default:
      return verdict satisfies never;
  }
}

/** One that will not keep its exit rule: a person says what it shall do, or it fails. */
async function askWhatNext(agent: Agent, question: string): Promise<Ending | null> {
  const waiting = askPerson(agent, `exit-${agent.turns}`, question);
  agent.time.giveSlot();
  const outcome = await waiting;
  const back = agent.time.takeSlot();
  if (back) await agent.interruptible(back);
  // A default is an answer to a question, not to somebody who does not listen.
  if (!outcome.answered || outcome.by !== "person") {
    const { tools } = agent.contract.exit;
    return failure(
      "exit_rule_unmet",
      `It stopped without calling ${tools.join(" or ")}, and nobody said what it shall do.`,
    );
  }
  say(agent, "person", outcome.answer);
  return null;
}

function judged(agent: Agent, text: string, byTool: boolean, last = false): Ending | null {
  const verdict = judgeOutput(text, agent.contract, agent.transcript, byTool);
  if (verdict.kind === "output") return output(verdict.text, last);
  if (verdict.kind === "failure") return verdict;
  say(agent, "repair", verdict.message);
  return null;
}

function output(text: string, last: boolean): Ending {
  return { kind: "output", text, truncated: last, reason: last ? "budget_exhausted" : null };
}

/** Tells the model something, after refusing calls that were cut together with the answer. */
function say(agent: Agent, from: string, message: string): void {
  agent.record(
    ...agent.transcript.pending.map(({ call }) =>
      event(agent, "agent.tool_denied", {
        call_id: call.id,
        tool: call.name,
        rule: "answer_cut",
        error: "The answer was cut before this call was complete; it was not made.",
      }),
    ),
    event(agent, "agent.interjected", { from, severity: "warn", message }),
  );
}

function streakEnding({ transcript }: Agent): Ending | null {
  if (transcript.invalidStreak >= streakLimit) {
    return failure(
      "invalid_model_output",
      `${streakLimit} calls in a row were unknown or malformed.`,
      true,
    );
  }
  if (transcript.deniedStreak >= streakLimit) {
    return failure("policy_denied", `${streakLimit} calls in a row were refused by the contract.`);
  }
  return null;
}

/** What an error that ends an agent's work means for its log. */
function endingOf(error: unknown, agent: Agent): Ending {
  if (error instanceof Stopped) return failure(error.code, error.message);
  const message = messageOf(error);
  if (error instanceof MandateError) {
    if (error.code === "storage-full") return failure("storage_full", message);
    if (error.code === "contract-invalid") return failure("policy_denied", message);
    if (error.code === "closed") return failure("worker_lost", message);
  }
  if (agent.run.parts.middleware.delegation) return failure("policy_denied", message);
  return failure("worker_lost", `An unexpected error ended the work: ${message}`);
}
