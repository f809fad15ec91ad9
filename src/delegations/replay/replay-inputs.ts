import { externalProvider } from "../../contracts/contract.ts";
import type { EventPayloads, NewEvent, StoredEvent } from "../../events/event.ts";
import type { ModelUsage } from "../../ports/model.ts";
import { resultOf } from "../../sessions/delegation-result.ts";
import { cancelStored } from "../ends/cancel-stored.ts";
import { closeWith } from "../ends/close.ts";
import { failure } from "../ends/ending.ts";
import { event } from "../live-delegation.ts";
import { pause, settle, suspendRoot } from "../suspend/interrupt.ts";
import { correctRequest } from "../turns/request-model.ts";
import { queue } from "../work.ts";
import { type RecordedStop, recordedCuts, recordedSuspensions } from "./recorded-stops.ts";
import type { RecordedTakeover } from "./recorded-takeovers.ts";
import type { RecordedDelegation } from "./recording.ts";
import { replayProgram, replaySession } from "./replay-program.ts";
import type { Replayer } from "./replayer.ts";

/** Schedules every recorded input that comes neither from a model nor from a tool. */
export function scheduleInputs(
  replayer: Replayer,
  stops: readonly RecordedStop[],
  takeovers: readonly RecordedTakeover[],
): void {
  const { course, recording } = replayer;
  for (const takeover of takeovers) {
    const { after, delegationId, seq } = takeover;
    const takeOver = (): void => void replayer.takeOver(takeover).catch(() => undefined);
    course.at(seq, takeOver, () => course.seenOf(delegationId) >= after);
  }
  for (const delegation of recording.delegations.values()) scheduleInputsOf(replayer, delegation);
  for (const stop of stops) {
    const isReady = (): boolean => course.seenOf(stop.delegationId) >= stop.after;
    course.at(stop.seq, () => replayStop(replayer, stop), isReady);
  }
  for (const { payload, seq, sub_agent_id, type } of recording.messages) {
    const sent: NewEvent = { type, ...(sub_agent_id !== undefined && { sub_agent_id }), payload };
    const append = { runId: recording.runId, by: "operator", events: [sent] } as const;
    course.at(seq, () => void replayer.store.store.append(append).catch(() => undefined));
  }
  const [root] = recording.delegations.keys();
  for (const [index, { seq, type }] of recording.events.entries()) {
    if (type !== "run.resumed") continue;
    const isResumed = continuesRoot(recording.events.slice(index + 1), root);
    course.at(seq, () => replayer.recover(isResumed));
  }
}

/** Whether a person resumed the run: a recovery leaves an interrupted root interrupted. */
function continuesRoot(after: readonly StoredEvent[], root: string | undefined): boolean {
  for (const { payload, sub_agent_id: id, type } of after) {
    if (type === "run.resumed") return false;
    if (id !== root) continue;
    if (type === "agent.interrupted") return payload.resumed === true;
    if (type === "agent.resumed") return true;
  }
  return false;
}

function scheduleInputsOf(replayer: Replayer, delegation: RecordedDelegation): void {
  const { course } = replayer;
  for (const { after, cause, seq } of recordedCuts(delegation.events)) {
    const cut = (): void =>
      replayer.run.delegations.byId.get(delegation.id)?.work.cutAttempt(cause);
    course.at(seq, cut, () => course.seenOf(delegation.id) >= after);
  }
  scheduleSuspensions(replayer, delegation);
  if (delegation.contract.runner !== undefined) replayProgram(replayer, delegation);
  const isSession = delegation.contract.model.provider === externalProvider;
  const { watches } = delegation.contract.parent;
  let shown = 0;
  for (const recorded of delegation.events) {
    const { payload, seq, type } = recorded;
    if (type === "agent.subagent_created" && watches !== undefined) {
      course.at(seq, () => replayer.createAgain(delegation.id));
    } else if (type === "agent.subagent_started") {
      const begin = isSession ? replaySession : start;
      // The delegation's first event triggers this, while the delegation is still being created.
      course.at(seq, () => queueMicrotask(() => begin(replayer, delegation)));
    } else if (type === "agent.budget_corrected") {
      const { completion, prompt, request } = payload;
      course.at(seq, () =>
        replayCorrection(replayer, delegation.id, request, { prompt, completion }),
      );
    } else if (type === "agent.answered") {
      course.at(seq, () => replayAnswer(replayer, delegation.id, payload));
    } else if (type === "agent.interjected") {
      const { from, up_to: upTo } = payload;
      if (from === "session" && upTo !== undefined && watches !== undefined) {
        const after = shown;
        course.at(seq, () => replayShown(replayer, delegation.id, { watches, after, upTo }));
        shown = upTo;
      } else if (isFromOutside(payload)) {
        course.at(seq, () => interject(replayer, delegation.id, payload));
      }
    }
  }
}

/** Schedules interruptions and suspensions. Their consequences follow by themselves. */
function scheduleSuspensions(replayer: Replayer, { events, id }: RecordedDelegation): void {
  const { course, recording } = replayer;
  const find = () => replayer.run.delegations.byId.get(id);
  const isDistributed = recording.started.spread !== undefined;
  for (const { after, event, seq } of recordedSuspensions(events, isDistributed)) {
    const rest = async (): Promise<void> => {
      const agent = find();
      if (agent === undefined || agent.process.end.isEnding) return;
      if (event.type === "agent.paused") return pause(agent);
      const { cause, resumed: letsAllGoOn = false } = event.payload;
      await suspendRoot(agent, cause, { letsAllGoOn });
      agent.run.settling = settle(agent);
    };
    const isReady = (): boolean => course.seenOf(id) >= after;
    course.at(seq, () => void rest().catch(() => undefined), isReady);
  }
}

/** Whether an interjection has to be injected: the engine's own, and those of opening servers, have not. */
function isFromOutside({
  cause,
  from,
  message_id: id,
  severity,
}: EventPayloads["agent.interjected"]): boolean {
  // The engine itself delivers messages and names running children.
  if (id !== undefined || cause?.code === "children_running") return false;
  if (from === "mcp") return severity === "info";
  return from !== "runtime" && from !== "repair" && from !== "person" && from !== "session";
}

function start({ run }: Replayer, { id }: RecordedDelegation): void {
  const agent = run.delegations.byId.get(id);
  if (agent?.state.status === "created" && !agent.process.end.isEnding) queue(agent);
}

/** Repeats a late usage report, once everything before it has happened again. */
function replayCorrection(
  { run }: Replayer,
  delegationId: string,
  request: number,
  usage: ModelUsage,
): void {
  const agent = run.delegations.byId.get(delegationId);
  if (agent !== undefined) correctRequest(agent, request, usage);
}

function replayAnswer(
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
    // The delegation is being recovered and has not repeated its question yet.
    else if (tries < mostRetries) setImmediate(() => tell(tries + 1));
  };
  answered.then(
    () => tell(),
    () => undefined,
  );
}

const mostRetries = 1000;

function interject(
  { run }: Replayer,
  delegationId: string,
  payload: EventPayloads["agent.interjected"],
): void {
  const agent = run.delegations.byId.get(delegationId);
  if (agent === undefined || agent.process.end.isEnding) return;
  agent.record(event(agent, "agent.interjected", payload));
}

interface Shown {
  readonly watches: string;
  readonly after: number;
  readonly upTo: number;
}

/** Shows a watcher the recorded events: how many had arrived by then depends on timing. */
function replayShown(replayer: Replayer, watcher: string, shown: Shown, tries = 0): void {
  const { after, upTo, watches } = shown;
  const { recording, store } = replayer;
  const isShown = ({ seq }: StoredEvent): boolean => seq > after && seq <= upTo;
  const events = (recording.delegations.get(watches)?.events ?? []).filter(isShown);
  if (store.show(watcher, events) || tries >= mostRetries) return;
  setImmediate(() => replayShown(replayer, watcher, shown, tries + 1));
}

function replayStop(replayer: Replayer, stop: RecordedStop, tries = 0): void {
  const { cause, delegationId, isForeign } = stop;
  if (isForeign) {
    endFromOutside(replayer, stop).catch(() => undefined);
    return;
  }
  const { run } = replayer;
  const agent = run.delegations.byId.get(delegationId);
  // The delegation is being created or recovered at this moment.
  if (agent === undefined || run.lost) {
    if (tries < mostRetries) setImmediate(() => replayStop(replayer, stop, tries + 1));
    return;
  }
  if (agent.process.end.isEnding) return;
  agent.work.stop(cause);
  closeWith(agent, failure(cause)).catch(() => undefined);
}

/** Another process ended the delegation, and its own process noticed. */
async function endFromOutside(
  replayer: Replayer,
  { cause, delegationId }: RecordedStop,
): Promise<void> {
  const { recording, store } = replayer;
  const { runId } = recording;
  // The root ended, and with it the run: its worker writes nothing more.
  if (recording.delegations.get(delegationId)?.parentId === null) store.killWorker();
  // Other processes see only committed events.
  await new Promise((resolve) => setImmediate(resolve));
  await cancelStored(
    { store: store.store, toolbox: replayer.run.parts.toolbox },
    runId,
    delegationId,
    cause,
  );
  const state = await store.store.readRun(runId);
  for (const one of replayer.run.delegations.byId.values()) {
    const result = state && resultOf(state, one.id);
    const { end } = one.process;
    if (end.isEnding || !result) continue;
    end.isEnding = true;
    one.work.stop({ code: "ended_outside" });
    one.adopt(state.delegations.get(one.id) ?? one.state);
    end.closed(result);
  }
}
