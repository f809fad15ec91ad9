/**
 * The lifecycle of a delegation: one table of legal events and one fold. Runtime, stores, checker and
 * surfaces all use `apply`; there are no other transitions.
 */
import { MandateError } from "../ports/mandate-error.ts";
import { storedLine } from "../text.ts";
import {
  type Delegation,
  type DelegationStatus,
  mostMail,
  type OpenAsk,
  type Output,
  type Reservation,
  type WaitingOn,
} from "./delegation.ts";
import type { EventPayloads, EventType, NewEvent, TokenUsage } from "./event.ts";
import { correct, settle, withGrownKeeps, withoutKeeps } from "./spending.ts";

/** An event with its time, by the clock of the appending process. */
export type TimedEvent<Type extends EventType = EventType> = NewEvent<Type> & {
  readonly at: number;
};

const activity: readonly EventType[] = [
  "agent.model_turn",
  "agent.budget_reserved",
  "agent.budget_settled",
  "agent.budget_corrected",
  "agent.tool_started",
  "agent.tool_completed",
  "agent.tool_failed",
  "agent.tool_denied",
  "agent.tool_outcome_unknown",
  "agent.asked",
  "agent.answered",
  "agent.retried",
  "agent.resumed",
  "agent.interjected",
  "agent.compacted",
  // Events about the requests of another program.
  "agent.model_clamped",
  "agent.request_refused",
  "agent.program_started",
  "agent.program_reported",
  "agent.program_called",
  "agent.program_answered",
  "agent.paused",
  "agent.interrupted",
  "agent.workflow_started",
  "agent.workflow_called",
  "agent.workflow_settled",
  "agent.workflow_noted",
];

const accepts: Readonly<Record<DelegationStatus, ReadonlySet<EventType>>> = {
  created: new Set<EventType>([
    "agent.claimed",
    "agent.message_sent",
    "agent.subagent_started",
    "agent.subagent_failed",
    "agent.model_clamped",
    "agent.skills_clamped",
  ]),
  running: new Set<EventType>([
    "agent.claimed",
    "agent.message_sent",
    "agent.subagent_attempt",
    "agent.subagent_waiting_for_merge",
    "agent.subagent_failed",
    ...activity,
  ]),
  waiting_for_merge: new Set<EventType>([
    "agent.claimed",
    "agent.budget_corrected",
    "agent.asked",
    "agent.answered",
    // Background children of a delegation that has answered are suspended or resumed.
    "agent.paused",
    "agent.resumed",
    "agent.worktree_merged",
    "agent.subagent_completed",
    "agent.subagent_failed",
  ]),
  completed: new Set<EventType>(["agent.subagent_closed"]),
  failed: new Set<EventType>(["agent.subagent_closed"]),
  closed: new Set<EventType>(),
};

const noUsage: TokenUsage = { prompt: 0, completion: 0, cost: 0 };
const noReservations: readonly Reservation[] = Object.freeze([]);
const onRuntime: WaitingOn = { on: "runtime" };
const onModel: WaitingOn = { on: "model" };
const onBudget: WaitingOn = { on: "budget" };
const onPause: WaitingOn = { on: "paused" };
const onGoing: WaitingOn = { on: "child", detail: "interrupted" };

function accepted(status: DelegationStatus, type: EventType): boolean {
  return accepts[status].has(type);
}

/** The delegation after its first event. */
export function create(event: TimedEvent<"agent.subagent_created">): Delegation {
  const { payload } = event;
  const created: Delegation = {
    status: "created",
    id: event.sub_agent_id ?? "",
    parentId: payload.parent_id,
    callId: payload.call_id,
    stepIdx: payload.step_idx,
    depth: payload.depth,
    profile: payload.profile,
    title: payload.title,
    contractHash: payload.contract_hash,
    resumedFrom: payload.resumed_from ?? null,
    resumedAt: payload.resumed_at ?? null,
    createdAt: event.at,
    startedAt: null,
    usage: noUsage,
    turns: 0,
    toolCalls: 0,
    attempt: 0,
  };
  // Copied only for the few delegations that have one of them.
  const { budget, bundle, client } = payload;
  if (budget === undefined && client === undefined) return created;
  return {
    ...created,
    ...(client !== undefined && { client }),
    ...(budget && {
      share: { ...budget, worker: null, fence: 0, ...(bundle && { start: bundle }) },
    }),
  };
}

/**
 * The delegation after an event. Throws "illegal-transition".
 * @example delegation = apply(delegation, event);
 */
export function apply(delegation: Delegation, event: TimedEvent): Delegation {
  if (!accepted(delegation.status, event.type)) throw illegalTransition(delegation, event.type);
  if (event.type === "agent.claimed") return claim(delegation, event);
  if (event.type === "agent.message_sent") return receive(delegation, event);
  switch (delegation.status) {
    case "created":
      return applyToCreated(delegation, event);
    case "running":
      return applyToRunning(delegation, event);
    case "waiting_for_merge":
      return applyToWaiting(delegation, event);
    case "completed":
    case "failed":
      return applyClose(delegation, event);
    case "closed":
      throw illegalTransition(delegation, event.type);
    default:
      return delegation satisfies never;
  }
}

type In<Status extends DelegationStatus> = Extract<Delegation, { status: Status }>;

function applyToCreated(delegation: In<"created">, event: TimedEvent): Delegation {
  switch (event.type) {
    case "agent.subagent_started":
      return {
        ...delegation,
        status: "running",
        startedAt: event.at,
        waitingOn: onRuntime,
        reservations: noReservations,
        requests: 0,
        ask: null,
        resumptions: 0,
        interruption: null,
        lastEventAt: event.at,
      };
    case "agent.subagent_failed":
      return fail(delegation, event, null);
    default:
      return delegation;
  }
}

/** A paused delegation accepts answers and the like, but stays paused until it is resumed. */
function applyToRunning(delegation: In<"running">, event: TimedEvent): Delegation {
  const next = moveRunning(delegation, event);
  const isResting = delegation.waitingOn.on === "paused" && !wakes.has(event.type);
  return isResting && next.status === "running" ? { ...next, waitingOn: onPause } : next;
}

const wakes: ReadonlySet<EventType> = new Set(["agent.resumed", "agent.interrupted"]);

/** Releases a delegation of a distributed run: its worker writes nothing more, and the next one claims it. */
function released({ share }: Delegation): Pick<Delegation, "share"> | undefined {
  return share === undefined || share.worker === null
    ? undefined
    : { share: { ...share, worker: null } };
}

function moveRunning(delegation: In<"running">, event: TimedEvent): Delegation {
  const lastEventAt = event.at;
  switch (event.type) {
    case "agent.subagent_attempt":
      return {
        ...withoutKeeps(delegation),
        attempt: event.payload.attempt,
        waitingOn: onRuntime,
        lastEventAt,
      };
    case "agent.budget_reserved": {
      const { keeps, request } = event.payload;
      const reserved = {
        ...withoutKeeps(delegation),
        // Not spread: a list that grows in a literal holds room for sixteen more.
        reservations: delegation.reservations.concat(event.payload),
        requests: request,
        waitingOn: onModel,
        lastEventAt,
      };
      return keeps === undefined ? reserved : { ...reserved, keeps };
    }
    case "agent.budget_settled":
      return settle(delegation, event.payload, lastEventAt);
    case "agent.budget_corrected":
      return { ...delegation, ...correct(delegation, event.payload), lastEventAt };
    case "agent.model_turn":
      return {
        ...delegation,
        turns: delegation.turns + 1,
        resumptions: 0,
        waitingOn: onRuntime,
        lastEventAt,
      };
    case "agent.tool_started": {
      const { joins, keeps, tool } = event.payload;
      const on = joins ? "child" : "tool";
      const started = { ...delegation, waitingOn: { on, detail: tool } as const, lastEventAt };
      return keeps === undefined ? started : { ...started, keeps };
    }
    case "agent.tool_completed": {
      const { call_id: callId, delivered, output } = event.payload;
      return {
        ...(delivered === undefined ? withGrownKeeps(delegation, output) : delegation),
        toolCalls: delegation.toolCalls + 1,
        resumptions: 0,
        waitingOn: onRuntime,
        ask: delegation.ask?.callId === callId ? null : delegation.ask,
        lastEventAt,
      };
    }
    case "agent.tool_failed":
    case "agent.tool_outcome_unknown": {
      const grown = withGrownKeeps(delegation, event.payload.error);
      return { ...grown, resumptions: 0, waitingOn: onRuntime, lastEventAt };
    }
    case "agent.tool_denied":
      return { ...withGrownKeeps(delegation, event.payload.error), lastEventAt };
    case "agent.asked":
      return {
        ...delegation,
        waitingOn: { on: event.payload.kind ?? "answer", detail: event.payload.ask_id },
        ask: askOf(event.payload),
        lastEventAt,
      };
    case "agent.answered":
      // Only the first answer counts: later ones and expired deadlines are illegal.
      if (delegation.ask?.id !== event.payload.ask_id)
        throw illegalTransition(delegation, event.type);
      return { ...delegation, ask: null, waitingOn: onRuntime, lastEventAt };
    case "agent.program_started": {
      const isUnmetered = event.payload.login === "own";
      return { ...delegation, ...(isUnmetered && { unmetered: true as const }), lastEventAt };
    }
    case "agent.program_reported": {
      if (event.payload.what !== "call") return { ...delegation, lastEventAt };
      const { outcome, title } = event.payload;
      const isBegun = outcome === "begun";
      const waitingOn = isBegun
        ? ({ on: "tool", detail: storedLine(title, 80) } as const)
        : onRuntime;
      return { ...delegation, waitingOn, lastEventAt };
    }
    case "agent.program_answered":
      return { ...delegation, resumptions: 0, waitingOn: onRuntime, lastEventAt };
    case "agent.retried":
      return {
        ...delegation,
        waitingOn: { on: "model", until: event.at + event.payload.delay_ms },
        lastEventAt,
      };
    case "agent.resumed":
      return {
        ...delegation,
        resumptions: event.payload.resumption,
        interruption: null,
        waitingOn: onRuntime,
        lastEventAt,
      };
    case "agent.paused":
      if (event.payload.reason !== "interrupt") {
        return { ...delegation, waitingOn: onBudget, lastEventAt };
      }
      return { ...delegation, ...released(delegation), waitingOn: onPause, lastEventAt };
    case "agent.interrupted":
      return {
        ...delegation,
        ...released(delegation),
        interruption: { cause: event.payload.cause, resumed: event.payload.resumed === true },
        waitingOn: onGoing,
        lastEventAt,
      };
    case "agent.interjected":
      return { ...deliver(delegation, event.payload), lastEventAt };
    case "agent.subagent_waiting_for_merge":
      return {
        ...common(delegation),
        ...handedIn(delegation, event.payload),
        status: "waiting_for_merge",
        output: outputOf(event.payload),
        ask: null,
      };
    case "agent.subagent_failed":
      return fail(delegation, event, null);
    default:
      return { ...delegation, lastEventAt };
  }
}

function applyToWaiting(delegation: In<"waiting_for_merge">, event: TimedEvent): Delegation {
  switch (event.type) {
    case "agent.budget_corrected":
      return { ...delegation, ...correct(delegation, event.payload) };
    case "agent.asked":
      return { ...delegation, ask: askOf(event.payload) };
    case "agent.answered":
      if (delegation.ask?.id !== event.payload.ask_id)
        throw illegalTransition(delegation, event.type);
      return { ...delegation, ask: null };
    case "agent.paused":
      return { ...delegation, ...released(delegation), isPaused: true };
    case "agent.resumed": {
      const { isPaused: _, ...resumed } = delegation;
      return resumed;
    }
    case "agent.subagent_completed": {
      const { output } = delegation;
      const { reason } = event.payload;
      return { ...common(delegation), status: "completed", output, reason };
    }
    case "agent.subagent_failed":
      return fail(delegation, event, delegation.output);
    default:
      return delegation;
  }
}

export function askOf(payload: TimedEvent<"agent.asked">["payload"]): OpenAsk {
  return {
    id: payload.ask_id,
    callId: payload.call_id,
    ...(payload.kind && { kind: payload.kind }),
    ...(payload.about !== undefined && { about: payload.about }),
    question: payload.question,
    deadlineAt: payload.deadline_at,
    default: payload.default,
  };
}

function applyClose(delegation: In<"completed"> | In<"failed">, event: TimedEvent): Delegation {
  if (event.type !== "agent.subagent_closed") throw illegalTransition(delegation, event.type);
  const { payload } = event;
  if (payload.final_status !== delegation.status) throw illegalTransition(delegation, event.type);
  return {
    ...common(delegation),
    status: "closed",
    finalStatus: payload.final_status,
    closeReason: payload.close_reason,
    failure: delegation.status === "failed" ? delegation.failure : null,
    output: delegation.output,
    seal: payload.seal,
    closedAt: event.at,
  };
}

function fail(
  delegation: Delegation,
  event: TimedEvent<"agent.subagent_failed">,
  output: Output | null,
): Delegation {
  const { cause, code, error } = event.payload;
  return { ...common(delegation), status: "failed", failure: { code, cause, error }, output };
}

/** The claiming worker owns the delegation, with the next fence. */
function claim(delegation: Delegation, { payload }: TimedEvent<"agent.claimed">): Delegation {
  const { share } = delegation;
  if (share === undefined || payload.fence !== share.fence + 1) {
    throw illegalTransition(delegation, "agent.claimed");
  }
  return { ...delegation, share: { ...share, ...payload } };
}

/** A sent message changes only the mail: a paused delegation stays paused. */
function receive(
  delegation: Delegation,
  { payload, type }: TimedEvent<"agent.message_sent">,
): Delegation {
  const { mail = [] } = delegation;
  if (mail.some((one) => one.message_id === payload.message_id)) {
    throw illegalTransition(delegation, type);
  }
  if (mail.length >= mostMail) {
    throw new MandateError(
      "refused-by-policy",
      `${delegation.id} has ${mostMail} unread messages, which is the limit. Send the message again after its next turn.`,
    );
  }
  return { ...delegation, mail: [...mail, payload] };
}

/** Removes a delivered message from the mail. A second delivery is illegal. */
function deliver(
  delegation: In<"running">,
  { message_id: id }: EventPayloads["agent.interjected"],
): In<"running"> {
  if (id === undefined) return delegation;
  const { mail = [], ...others } = delegation;
  const left = mail.filter((one) => one.message_id !== id);
  if (left.length === mail.length) throw illegalTransition(delegation, "agent.interjected");
  return left.length === 0 ? others : { ...others, mail: left };
}

/** After the output is handed in, the caller's worker owns the delegation and merges its changes. */
function handedIn(
  { parentId, share }: Delegation,
  { bundle, running }: EventPayloads["agent.subagent_waiting_for_merge"],
): Pick<Delegation, "share"> | undefined {
  if (share === undefined || parentId === null || running !== undefined) return undefined;
  return { share: { ...share, worker: null, ...(bundle && { changes: bundle }) } };
}

/** The fields that every status has; the caller adds those of the new status. */
function common(delegation: Delegation): Omit<In<"created">, "status"> {
  const fixed = {
    id: delegation.id,
    parentId: delegation.parentId,
    callId: delegation.callId,
    stepIdx: delegation.stepIdx,
    depth: delegation.depth,
    profile: delegation.profile,
    title: delegation.title,
    contractHash: delegation.contractHash,
    resumedFrom: delegation.resumedFrom,
    resumedAt: delegation.resumedAt,
    createdAt: delegation.createdAt,
    startedAt: delegation.startedAt,
    usage: delegation.usage,
    turns: delegation.turns,
    toolCalls: delegation.toolCalls,
    attempt: delegation.attempt,
  };
  const { client, estimates, mail, overrun, share } = delegation;
  // Most delegations have none of these, and every close copies its delegation twice.
  if (!(client !== undefined || estimates || mail || overrun || share)) return fixed;
  return {
    ...fixed,
    ...(client !== undefined && { client }),
    ...(share && { share }),
    // A closed delegation keeps its unread messages, so that surfaces can show them.
    ...(mail && { mail }),
    ...(estimates && { estimates }),
    ...(overrun && { overrun }),
  };
}

function outputOf(payload: TimedEvent<"agent.subagent_waiting_for_merge">["payload"]): Output {
  return {
    text: payload.output,
    hash: payload.output_hash,
    path: payload.output_path ?? null,
    truncated: payload.truncated ?? false,
    reason: payload.reason ?? null,
    artifact: payload.artifact ?? null,
    ...(payload.running && { running: payload.running }),
  };
}

function illegalTransition(delegation: Delegation, type: EventType): MandateError {
  return new MandateError(
    "illegal-transition",
    `Delegation ${delegation.id} is ${delegation.status}: it does not accept ${type}.`,
  );
}
