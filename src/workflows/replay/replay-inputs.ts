import { externalProvider } from "../../contracts/contract.ts";
import { event } from "../../delegations/agent-event.ts";
import { cancelStored } from "../../delegations/ends/cancel-stored.ts";
import { closeWith } from "../../delegations/ends/close.ts";
import { failure } from "../../delegations/ends/ending.ts";
import { queue } from "../../delegations/enqueue.ts";
import { settle, suspendRoot } from "../../delegations/rests/interrupt.ts";
import { pauseAgent } from "../../delegations/rests/pause.ts";
import { Session } from "../../delegations/session.ts";
import { correctRequest } from "../../delegations/turns/correct-request.ts";
import { nothing } from "../../delegations/turns/ledger.ts";
import { performCall } from "../../delegations/turns/perform-calls.ts";
import type { EventPayloads, StoredEvent } from "../../events/event.ts";
import type { ModelUsage } from "../../ports/model.ts";
import { resultOf } from "../../sessions/delegation-result.ts";
import { type RecordedStop, recordedCuts, recordedRests } from "./recorded-stops.ts";
import type { RecordedDelegation } from "./recording.ts";
import type { Replayer } from "./replayer.ts";

/** Lets in, each at its place, what neither a model nor a tool brings into a run. */
export function letInInputs(replayer: Replayer, stops: readonly RecordedStop[]): void {
  const { course, recording } = replayer;
  for (const delegation of recording.delegations.values()) letInto(replayer, delegation);
  for (const stop of stops) {
    const isReady = (): boolean => course.seenOf(stop.delegationId) >= stop.after;
    course.at(stop.seq, () => stopAgain(replayer, stop), isReady);
  }
  for (const { seq, type } of recording.events) {
    if (type === "run.resumed") course.at(seq, () => replayer.takeUpAgain());
  }
}

function letInto(replayer: Replayer, delegation: RecordedDelegation): void {
  const { course } = replayer;
  for (const { after, message, seq } of recordedCuts(delegation.events)) {
    const cut = (): void => replayer.run.agents.get(delegation.id)?.cutAttempt(message);
    course.at(seq, cut, () => course.seenOf(delegation.id) >= after);
  }
  letInRests(replayer, delegation);
  const isSession = delegation.contract.model.provider === externalProvider;
  const { watches } = delegation.contract.parent;
  let shown = 0;
  for (const recorded of delegation.events) {
    const { payload, seq, type } = recorded;
    if (type === "agent.subagent_created" && watches !== undefined) {
      course.at(seq, () => replayer.makeAgain(delegation.id));
    } else if (type === "agent.subagent_started") {
      const begin = isSession ? holdAgain : start;
      // It is being made at this moment: its first event is what let this in.
      course.at(seq, () => queueMicrotask(() => begin(replayer, delegation)));
    } else if (type === "agent.budget_corrected") {
      const { completion, prompt, request } = payload;
      course.at(seq, () => correctAgain(replayer, delegation.id, request, { prompt, completion }));
    } else if (type === "agent.answered") {
      course.at(seq, () => answerAgain(replayer, delegation.id, payload));
    } else if (type === "agent.interjected") {
      const { from, up_to: upTo } = payload;
      if (from === "session" && upTo !== undefined && watches !== undefined) {
        const after = shown;
        course.at(seq, () => showAgain(replayer, delegation.id, { watches, after, upTo }));
        shown = upTo;
      } else if (isFromOutside(payload)) {
        course.at(seq, () => interject(replayer, delegation.id, payload));
      }
    }
  }
}

/** Its caller stopped, or it was told to rest: each when it was, and what follows happens by itself. */
function letInRests(replayer: Replayer, { events, id }: RecordedDelegation): void {
  const { course } = replayer;
  const find = () => replayer.run.agents.get(id);
  for (const { after, event, seq } of recordedRests(events)) {
    const rest = async (): Promise<void> => {
      const agent = find();
      if (agent === undefined || agent.isEnding) return;
      if (event.type === "agent.paused") return pauseAgent(agent);
      await suspendRoot(agent, event.payload.reason, event.payload.closes_as);
      agent.run.settling = settle(agent);
    };
    const isReady = (): boolean => course.seenOf(id) >= after;
    course.at(seq, () => void rest().catch(() => undefined), isReady);
  }
}

/** Everything but what the loop says by itself, and what is said of servers while they are opened. */
function isFromOutside({ from, severity }: EventPayloads["agent.interjected"]): boolean {
  if (from === "mcp") return severity === "info";
  return from !== "runtime" && from !== "repair" && from !== "person" && from !== "session";
}

function start({ run }: Replayer, { id }: RecordedDelegation): void {
  const agent = run.agents.get(id);
  if (agent?.status === "created" && !agent.isEnding) queue(agent);
}

/** An agent of another program: we have its calls, and what they were given is in no log. */
function holdAgain(replayer: Replayer, { calls, events, id }: RecordedDelegation): void {
  const agent = replayer.run.agents.get(id);
  if (agent === undefined) return;
  const session = new Session(agent);
  for (const [callId, { seq, tool }] of calls) {
    const call = { id: callId, name: tool, input: {} };
    replayer.course.at(seq, () => {
      performCall(agent, call, false, false).catch(() => undefined);
    });
  }
  const end = events.find(({ type }) => type === "agent.subagent_waiting_for_merge");
  if (end) replayer.course.at(end.seq, () => void session.close().catch(() => undefined));
}

/** A report that came late comes again, when everything before it has happened. */
function correctAgain(
  { run }: Replayer,
  delegationId: string,
  request: number,
  usage: ModelUsage,
): void {
  const agent = run.agents.get(delegationId);
  if (agent !== undefined) correctRequest(agent, request, usage);
}

function answerAgain(
  replayer: Replayer,
  delegationId: string,
  payload: EventPayloads["agent.answered"],
): void {
  const { recording, store } = replayer;
  const askId = store.asks.get(payload.ask_id) ?? payload.ask_id;
  const { answer, by } = payload;
  const answered = store.store.append({
    runId: recording.runId,
    by: "operator",
    events: [
      {
        type: "agent.answered",
        sub_agent_id: delegationId,
        payload: { ...payload, ask_id: askId },
      },
    ],
  });
  const outcome =
    answer === null || by === "expired"
      ? ({ answered: false } as const)
      : ({ answered: true, answer, by } as const);
  const tell = (tries = 0): void => {
    const hear = replayer.run.asks.get(askId);
    if (hear) hear(outcome);
    // It is just being taken up, and has not come to its question again.
    else if (tries < patience) setImmediate(() => tell(tries + 1));
  };
  answered.then(
    () => tell(),
    () => undefined,
  );
}

const patience = 1000;

function interject(
  { run }: Replayer,
  delegationId: string,
  payload: EventPayloads["agent.interjected"],
): void {
  const agent = run.agents.get(delegationId);
  if (agent === undefined || agent.isEnding) return;
  const watcher = run.agents.get(payload.from.replace(/^watcher:/, ""));
  if (watcher) watcher.remarks++;
  agent.record(event(agent, "agent.interjected", payload));
}

interface Shown {
  readonly watches: string;
  readonly after: number;
  readonly upTo: number;
}

/** A watcher is shown what it was shown: how much of it was there by then is a matter of time. */
function showAgain(replayer: Replayer, watcher: string, shown: Shown, tries = 0): void {
  const { after, upTo, watches } = shown;
  const { recording, store } = replayer;
  const isShown = ({ seq }: StoredEvent): boolean => seq > after && seq <= upTo;
  const events = (recording.delegations.get(watches)?.events ?? []).filter(isShown);
  if (store.show(watcher, events) || tries >= patience) return;
  setImmediate(() => showAgain(replayer, watcher, shown, tries + 1));
}

function stopAgain(replayer: Replayer, stop: RecordedStop, tries = 0): void {
  const { code, delegationId, error, isForeign } = stop;
  if (isForeign) {
    endBeside(replayer, stop).catch(() => undefined);
    return;
  }
  const { run } = replayer;
  const agent = run.agents.get(delegationId);
  // It is being made at this moment, or taken up.
  if (agent === undefined || run.lost) {
    if (tries < patience) setImmediate(() => stopAgain(replayer, stop, tries + 1));
    return;
  }
  if (agent.isEnding) return;
  agent.stop(code, error);
  closeWith(agent, failure(code, error)).catch(() => undefined);
}

/** Somebody beside the process that worked on it ended it, and that process found out. */
async function endBeside(
  replayer: Replayer,
  { code, delegationId, error }: RecordedStop,
): Promise<void> {
  const { recording, store } = replayer;
  const { runId } = recording;
  // With the whole run its worker has nothing more to say, whatever it was about to do.
  if (recording.delegations.get(delegationId)?.parentId === null) store.killWorker();
  // Whoever is beside it knows only what is written.
  await new Promise((resolve) => setImmediate(resolve));
  await cancelStored(store.store, replayer.run.parts.toolbox, runId, delegationId, error, code);
  const state = await store.store.readRun(runId);
  for (const one of replayer.run.agents.values()) {
    const result = state && resultOf(state, one.id);
    if (one.isEnding || !result) continue;
    one.isEnding = true;
    one.account.settle(one.reservation, one.reservation);
    one.reservation = nothing;
    one.stop("cancelled", "It was ended from outside.");
    one.closed(result);
  }
}
