import type { TokenPrice } from "../../contracts/token-price.ts";
import type { Cause } from "../../events/cause.ts";
import type { StoredEvent } from "../../events/event.ts";
import { billionths } from "../../ports/dollars.ts";
import { type Model, type ModelCaller, ModelFault, type ModelUsage } from "../../ports/model.ts";
import { clip } from "../../text.ts";
import type { ModelSource, RecordedPlan } from "../engine-parts.ts";
import { type LiveDelegation, requestsOf } from "../live-delegation.ts";
import type { Middleware } from "../middleware.ts";
import { StalledRequest } from "../turns/request-model.ts";
import type { Course } from "./course.ts";
import type { RecordedBounds } from "./recorded-bounds.ts";
import type { RecordedFault, RecordedRequest } from "./recorded-requests.ts";
import type { RecordedDelegation, Recording } from "./recording.ts";

export interface RecordedModelOptions {
  readonly recording: Recording;
  readonly course: Course;
  find(delegationId: string): LiveDelegation | undefined;
  readonly bounds: Pick<RecordedBounds, "promptOf">;
}

/** The only model of a replay. It gives the recorded answers, and throws where there is no recorded one. */
export class RecordedModel implements ModelSource {
  readonly defaultModel = "recording/recording";
  readonly #options: RecordedModelOptions;
  readonly #costs = new WeakMap<ModelUsage, number>();
  /** Costs of estimated answers, by the tokens of the estimate. */
  readonly #estimated = new Map<string, number>();

  constructor(options: RecordedModelOptions) {
    this.#options = options;
    for (const event of options.recording.events) {
      const { payload, type } = event;
      if (type === "agent.budget_settled" || type === "agent.budget_corrected") {
        this.#estimated.set(keyOf(payload), payload.cost);
      }
    }
  }

  /** Absent in a run of one process, where the same decisions follow from the same order. */
  get recordedPlan(): ((delegationId: string) => RecordedPlan | undefined) | undefined {
    const { course, recording } = this.#options;
    if (recording.started.spread === undefined) return undefined;
    return (id) => {
      const delegation = recording.delegations.get(id);
      const [next] = course.nextOf(id, () => true);
      return delegation && next && planIn(delegation, next);
    };
  }

  resolve(): Model {
    return this.#answer;
  }

  candidates(): readonly string[] {
    return [];
  }

  cost(_name: string, usage: ModelUsage): number {
    return this.#costs.get(usage) ?? this.#estimated.get(keyOf(usage)) ?? 0;
  }

  /** Recorded contracts contain their prices; everything else is free in a replay. */
  price(): TokenPrice {
    return nothing;
  }

  /** Refuses the turns that middleware had refused, with the same message. */
  readonly turn: NonNullable<Middleware["turn"]> = async ({ delegationId }, next) => {
    const recorded = this.#requestOf(delegationId);
    if (recorded?.kind !== "refused") return next();
    await this.#options.course.arrival(recorded.seq);
    if (recorded.reply !== null) await next();
    throw new Error(recorded.message);
  };

  recorded(delegationId: string, request: number): RecordedRequest | undefined {
    const { bounds, recording } = this.#options;
    const recorded = recording.delegations.get(delegationId)?.requests.get(request);
    const promptBound = recorded?.promptBound ?? bounds.promptOf(delegationId, request);
    return recorded && { ...recorded, promptBound };
  }

  readonly #answer: Model = async ({ caller }) => {
    const recorded = this.#requestOf(caller.delegationId);
    if (recorded === undefined) {
      const sentence = `The recording has no answer to turn ${caller.turn} of ${caller.profile}.`;
      throw new ModelFault("rejected", sentence);
    }
    if (recorded.kind === "cut") return new Promise(() => undefined);
    await this.#options.course.arrival(recorded.seq);
    if (recorded.kind === "fault") throw faultOf(recorded);
    const { cost, reply } = recorded;
    if (reply === null) throw new ModelFault("rejected", "The turn was refused.");
    if (reply.usage === null) return reply;
    const usage = { ...reply.usage };
    this.#costs.set(usage, cost);
    return { ...reply, usage };
  };

  #requestOf(delegationId: string) {
    const agent = this.#options.find(delegationId);
    return this.recorded(delegationId, agent === undefined ? 0 : requestsOf(agent));
  }
}

/** What its worker had decided when it wrote that event next; undefined: the event does not say. */
function planIn(
  { contract, events }: RecordedDelegation,
  { payload, type }: StoredEvent,
): RecordedPlan | undefined {
  switch (type) {
    case "agent.budget_reserved": {
      const { cost = 0, request, tokens } = payload;
      const index = events.findIndex((one) => one.payload === payload);
      const turn = events.slice(index).find((one) => one.type === "agent.model_turn");
      const isLast = turn?.payload.last === true && isOf(request, events, turn);
      const reserve = { tokens, cost: billionths(cost) };
      const maxOutput = contract.model.max_output_tokens;
      return { plan: { kind: isLast ? "last" : "turn", reserve, maxOutput } };
    }
    case "agent.paused":
      return payload.reason === "budget" ? { plan: { kind: "wait" } } : undefined;
    case "agent.subagent_failed":
      if (!exhaustions.has(payload.cause.code)) return undefined;
      return { plan: { kind: "exhausted" }, cause: payload.cause };
    case "agent.subagent_waiting_for_merge":
      return payload.reason === "budget_exhausted" ? { plan: { kind: "exhausted" } } : undefined;
    default:
      return undefined;
  }
}

const exhaustions: ReadonlySet<Cause["code"]> = new Set([
  ...(["cost_spent", "cost_too_small", "tokens_too_small"] as const),
]);

/** Whether a turn answered that request: no other was reserved in between. */
function isOf(request: number, events: readonly StoredEvent[], turn: StoredEvent): boolean {
  const reserved = events.findLast(
    ({ seq, type }) => type === "agent.budget_reserved" && seq < turn.seq,
  );
  return reserved?.type === "agent.budget_reserved" && reserved.payload.request === request;
}

const nothing: TokenPrice = Object.freeze({ input: 0, output: 0 });

function keyOf({ completion, prompt }: ModelUsage): string {
  return `${prompt} ${completion}`;
}

/** A fault to which the engine reacts as it did to the recorded one. */
function faultOf({ cause, isCharged, partial, then }: RecordedFault): ModelFault {
  if (cause.code === "model_stalled") return new StalledRequest(cause);
  const remedy = cause.code === "model_unavailable" ? cause.remedy : undefined;
  const kept = {
    ...(partial === undefined ? {} : { partial }),
    ...(remedy === undefined ? {} : { remedy }),
  };
  const { text: message } = cause;
  if (isUnreadable(cause)) return new ModelFault("unreadable", message, kept);
  const passing = isCharged ? "connection" : "overloaded";
  switch (then) {
    case "compact":
      return new ModelFault("context-overflow", message, kept);
    case "retry":
      return new ModelFault(passing, message, { ...kept, retryAfterMs: 0 });
    case "next-attempt":
      return new ModelFault(passing, message, kept);
    case "next-model":
    case "fail":
      return new ModelFault(isCharged ? "connection" : "rejected", message, kept);
    default:
      return then satisfies never;
  }
}

/** The number of tries after which the recorded run stopped retrying; very large where it never did. */
export function recordedTries({ delegations }: Recording): number {
  const lasting = [...delegations.values()].flatMap(({ requests }) =>
    [...requests.values()].flatMap((request) =>
      request.kind === "fault" && isLasting(request) ? request.tries : [],
    ),
  );
  return Math.min(Number.MAX_SAFE_INTEGER, ...lasting);
}

/** Has its own number of tries. */
function isUnreadable(cause: RecordedFault["cause"]): boolean {
  return cause.code === "model_unavailable" && cause.fault === "unreadable";
}

function isLasting({ cause, isCharged, then }: RecordedFault): boolean {
  if (isUnreadable(cause)) return false;
  return then === "next-attempt" || (isCharged && (then === "next-model" || then === "fail"));
}

/**
 * A model that gives recorded answers, for tests of your own agents: profiles, tools and settings may
 * have changed since. Each delegation gets, in order, the answers of the earliest recorded delegation
 * with the same profile, depth and task that has not been used yet. A missing answer is a `ModelFault`.
 * @example
 * const mandate = await createMandate({ scripted: replayModel(await recordingOf("r1a2b3c", store)) });
 */
export function replayModel(recording: Recording): Model {
  const left = [...recording.delegations.values()];
  const taken = new Map<string, RecordedRequest[]>();
  return async ({ caller }) => {
    const requests = taken.get(caller.delegationId) ?? answersOf(take(left, caller));
    taken.set(caller.delegationId, requests);
    const next = requests.shift();
    if (next?.kind === "fault") throw faultOf(next);
    if (next?.kind === "answer") return next.reply;
    throw new ModelFault(
      "rejected",
      `The recording of ${recording.runId} has no answer to turn ${caller.turn} of ${caller.profile}, whose task is ${shown(caller.task)}.`,
    );
  };
}

function take(
  left: RecordedDelegation[],
  { depth, profile, task }: ModelCaller,
): RecordedDelegation | undefined {
  const place = left.findIndex(
    ({ contract: { parent, profile: recorded, step } }) =>
      recorded.id === profile && parent.depth === depth && step.description === task,
  );
  return place < 0 ? undefined : left.splice(place, 1)[0];
}

/** Without requests that had no outcome. */
function answersOf(recorded: RecordedDelegation | undefined): RecordedRequest[] {
  return [...(recorded?.requests.values() ?? [])].filter(({ kind }) => kind !== "cut");
}

function shown(task: string): string {
  return JSON.stringify(clip(task, 80));
}
