import {
  type Cause,
  describeCause,
  describeLateCause,
  type LateCause,
} from "../../events/cause.ts";
import type { NewEvent } from "../../events/event.ts";
import { messageOf } from "../../ports/message-of.ts";
import {
  type Model,
  ModelFault,
  type ModelPart,
  type ModelReply,
  type ModelRequest,
  type ToolDescription,
} from "../../ports/model.ts";
import { Stopped } from "../ends/ending.ts";
import { type LiveDelegation, modelOf, requestsOf } from "../live-delegation.ts";
import { correctRequest } from "./settle-request.ts";

/** What one request may use, as planned and reserved. */
export interface TurnRequest {
  readonly maxOutput: number;
  readonly tools: readonly ToolDescription[];
  readonly try: number;
}

/**
 * Sends one request and watches it: no first token in time, or none for too long in the middle,
 * ends it like a cut connection. The reply is whole or there is none.
 */
export async function requestModel(agent: LiveDelegation, turn: TurnRequest): Promise<ModelReply> {
  const { parts } = agent.run;
  const watch = new StreamWatch(agent);
  const request = new WatchedRequest(agent, turn, watch);
  try {
    const model = parts.models.resolve(modelOf(agent));
    const answer = (): Promise<ModelReply> => watch.follow(model, request);
    if (parts.middleware.turn === undefined) return await answer();
    return await parts.middleware.turn(
      {
        runId: agent.run.id,
        delegationId: agent.id,
        parentId: agent.parent?.id ?? null,
        depth: agent.contract.parent.depth,
        contract: agent.contract,
        request,
      },
      answer,
    );
  } catch (error) {
    if (error instanceof ModelFault || error instanceof Stopped) throw error;
    throw new RefusedTurn(error, watch.reply);
  } finally {
    watch.end();
  }
}

/** The turn was not let through: by middleware, before or after the model answered, or by us. */
export class RefusedTurn extends Error {
  readonly reply: ModelReply | null;

  constructor(cause: unknown, reply: ModelReply | null) {
    super(messageOf(cause), { cause });
    this.name = "RefusedTurn";
    this.reply = reply;
  }
}

/** What a model is asked; made once a request, so it is a class and not a literal with a getter. */
class WatchedRequest implements ModelRequest {
  readonly model: string;
  readonly system: string;
  readonly messages: ModelRequest["messages"];
  readonly tools: readonly ToolDescription[];
  readonly maxOutputTokens: number;
  readonly temperature: number | null;
  readonly caller: ModelRequest["caller"];
  readonly #watch: StreamWatch;

  constructor(agent: LiveDelegation, turn: TurnRequest, watch: StreamWatch) {
    const { contract, said } = agent;
    this.model = modelOf(agent);
    this.system = agent.system;
    this.messages = said.transcript.messages;
    this.tools = turn.tools;
    this.maxOutputTokens = turn.maxOutput;
    this.temperature = contract.model.temperature;
    this.caller = {
      delegationId: agent.id,
      profile: contract.profile.id,
      depth: agent.contract.parent.depth,
      attempt: agent.state.attempt,
      turn: said.transcript.turns + 1,
      try: turn.try,
      task: contract.step.description,
    };
    this.#watch = watch;
  }

  get topP(): number | null {
    return this.#watch.contract.model.top_p ?? null;
  }

  get effort(): ModelRequest["effort"] {
    return this.#watch.contract.model.effort ?? null;
  }

  /** Scripted models never look: the controller is made when somebody does. */
  get signal(): AbortSignal {
    return this.#watch.signal;
  }
}

/** The deadlines of one request: the agent's timer asks it when something last arrived. */
class StreamWatch {
  reply: ModelReply | null = null;
  readonly #agent: LiveDelegation;
  readonly #began: number;
  readonly #request: number;
  #lastPart = 0;
  #controller: AbortController | undefined;
  #reject: ((error: unknown) => void) | undefined;
  #forget: (() => void) | undefined;
  #reason: unknown;

  constructor(agent: LiveDelegation) {
    this.#agent = agent;
    this.#began = agent.run.parts.clock.monotonic();
    this.#request = requestsOf(agent);
    agent.process.time.watched = this;
  }

  get contract(): LiveDelegation["contract"] {
    return this.#agent.contract;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  follow(model: Model, request: ModelRequest): Promise<ModelReply> {
    const { interruption } = this.#agent.work;
    if (interruption !== null) return Promise.reject(interruption);
    return new Promise((resolve, reject) => {
      this.#reject = reject;
      this.#forget = this.#agent.work.onStop((reason) => this.#abort(reason));
      const hear = (reply: ModelReply): void => {
        this.reply = reply;
        if (this.#reason !== undefined) {
          noteLateResult(this.#agent, { code: "late_answer" });
          this.#correct(reply);
        }
        resolve(reply);
      };
      try {
        model(request, this.#onPart).then(hear, (error: unknown) => reject(asFault(error)));
      } catch (error) {
        reject(asFault(error));
      }
    });
  }

  #correct({ usage }: ModelReply): void {
    try {
      correctRequest(this.#agent, this.#request, usage);
    } catch {
      // Its log does not take anything now. The agent finds that out by itself, and the estimate stays.
    }
  }

  end(): void {
    this.#agent.process.time.watched = null;
    this.#forget?.();
  }

  /** Milliseconds that it may still be silent; ends the request when they are over. */
  check(): number {
    const { first_token: firstToken, stall } = this.#agent.contract.deadlines;
    const now = this.#agent.run.parts.clock.monotonic();
    const limit = this.#lastPart === 0 ? firstToken : stall;
    const left = (this.#lastPart === 0 ? this.#began : this.#lastPart) + limit - now;
    if (left > 0) return Math.min(left, stall);
    const token = this.#lastPart === 0 ? "first" : "next";
    this.#abort(new StalledRequest({ code: "model_stalled", token, ms: limit }));
    return Math.min(firstToken, stall);
  }

  readonly #onPart = (part: ModelPart): void => {
    const { clock, onDelta } = this.#agent.run.parts;
    this.#lastPart = clock.monotonic();
    this.#agent.process.lastActivity = this.#lastPart;
    const { request } = this.#agent.process;
    if (this.#reason === undefined && request.received !== null) {
      request.received += bytesOf(part);
    }
    if (part.type === "text") onDelta?.(this.#agent.id, part.text);
  };

  #abort(reason: unknown): void {
    this.#reason = reason;
    this.#controller?.abort(reason);
    this.#reject?.(reason);
  }
}

/** No output is more tokens than its bytes. */
function bytesOf(part: ModelPart): number {
  return part.type === "activity" ? (part.bytes ?? 0) : Buffer.byteLength(part.text);
}

/** A model of the user's own may throw anything: it is the model's failure, and nobody's policy. */
function asFault(error: unknown): unknown {
  if (error instanceof ModelFault || error instanceof Stopped) return error;
  return new ModelFault("rejected", messageOf(error), { cause: error });
}

/** Like a cut connection, but when it does not pass the delegation has timed out. */
export class StalledRequest extends ModelFault {
  override readonly cause: Cause;

  constructor(cause: Extract<Cause, { code: "model_stalled" }>) {
    super("connection", describeCause(cause));
    this.name = "StalledRequest";
    this.cause = cause;
  }
}

/**
 * Something that a delegation no longer waits for came after all. It changes nothing; that it came
 * is noted on the run, since the delegation itself may be closed.
 */
export function noteLateResult(agent: LiveDelegation, cause: LateCause): void {
  const { run } = agent;
  if (run.finished || run.lost) return;
  // The run may end at this very moment; then there is nowhere left to note it.
  void run.append([lateResult(agent, cause)]).catch(() => undefined);
}

export function lateResult({ id }: LiveDelegation, cause: LateCause): NewEvent<"run.late_result"> {
  const detail = describeLateCause(cause);
  return { type: "run.late_result", payload: { sub_agent_id: id, cause, detail } };
}
