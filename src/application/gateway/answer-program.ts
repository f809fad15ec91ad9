import type { IncomingMessage } from "node:http";
import type { TokenPrice } from "../../contracts/token-price.ts";
import type { ModelRequests, ReservedRequest } from "../../delegations/agent-programs.ts";
import { type Cause, closeReasonOf, describeCause } from "../../events/cause.ts";
import {
  type Json,
  Objection,
  objectIn,
  type WireProtocol,
  type WireRefusal,
  type WireRequest,
  type WireRoute,
} from "../../models/gateway/wire-protocol.ts";
import { followStream } from "./follow-stream.ts";
import { type GatewayModels, modelIdOf } from "./gateway-models.ts";
import { headersFor, readWhole, type Upstream } from "./send-upstream.ts";

/** One request of a program, as it arrived. */
export interface ProgramCall {
  readonly protocol: WireProtocol;
  readonly route: WireRoute;
  readonly body: unknown;
  readonly header: (name: string) => string | undefined;
  /** Aborted when the program no longer waits for an answer. */
  readonly signal: AbortSignal;
}

export interface ProgramAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** A stream is to be read at the speed of the program. */
  readonly body: Buffer | AsyncIterable<Buffer>;
}

interface Parts {
  readonly requests: ModelRequests;
  readonly models: GatewayModels;
  readonly upstream: Upstream;
}

/** What providers add of their own to a prompt: the framing of messages, and of tools. */
const hiddenPrompt = 512;

/** Providers bill slightly more than their counting endpoints report. */
const countMargin = 1.02;

const countTimeoutMs = 10_000;

/**
 * Answers one request of a program under its contract: reads it, reserves its worst case, sends it with
 * the real key and settles it. What the contract does not grant is refused in the protocol's own form.
 */
export async function answerProgram(parts: Parts, call: ProgramCall): Promise<ProgramAnswer> {
  const { requests } = parts;
  let wire: WireRequest | undefined;
  try {
    const { contract } = requests;
    const { network } = contract.permissions;
    const grants = {
      network: network === "*" || network.length > 0,
      hasCostCap: contract.budget.cost !== null,
    };
    wire = call.protocol.read(objectIn(call.body, "The body"), call.route, grants);
    const stopped = requests.stoppedBy;
    if (stopped !== null) return refused(call, stopped);
    return await new Asking(parts, call, wire).answer();
  } catch (error) {
    if (!(error instanceof Objection)) throw error;
    const { cause, message } = error;
    if (cause === undefined)
      return refusalOf(call.protocol, { status: 400, message, isBudget: false });
    await requests.refuse(cause, wire?.model);
    return refused(call, cause);
  }
}

/** An answer that makes programs stop, instead of asking again. */
export function refusalOf(protocol: WireProtocol, refusal: WireRefusal): ProgramAnswer {
  return {
    status: refusal.status,
    headers: { "content-type": "application/json", "x-should-retry": "false" },
    body: Buffer.from(JSON.stringify(protocol.refusal(refusal))),
  };
}

function refused({ protocol }: Pick<ProgramCall, "protocol">, cause: Cause): ProgramAnswer {
  return refusalOf(protocol, wireRefusal(cause));
}

function wireRefusal(cause: Cause): WireRefusal {
  const isBudget = closeReasonOf(cause) === "budget_exhausted";
  const message = `Mandate did not send this request: ${describeCause(cause)} Do not send it again.`;
  return { status: 400, message, isBudget };
}

/** One request, from its reservation to its settlement. */
class Asking {
  readonly #parts: Parts;
  readonly #call: ProgramCall;
  readonly #wire: WireRequest;

  constructor(parts: Parts, call: ProgramCall, wire: WireRequest) {
    this.#parts = parts;
    this.#call = call;
    this.#wire = wire;
  }

  async answer(): Promise<ProgramAnswer> {
    const { models, requests } = this.#parts;
    const { protocol, route } = this.#call;
    const { model: written } = this.#wire;
    const chosen = models.choose(protocol, requests.contract, written);
    if ("refused" in chosen) return this.#refuse(chosen.refused);
    const { model } = chosen;
    if (modelIdOf(model) !== written && model !== written) requests.clamp(written, model);
    if (route.action === "count") return this.#count(model);
    const price = requests.contract.model.prices?.[model];
    const { cost } = requests.contract.budget;
    if (cost !== null && price === undefined) {
      return this.#refuse({ code: "model_unpriced", model, cost });
    }
    const bound = await this.#boundOf(model);
    if (bound === undefined) {
      const field = "Content whose tokens only the provider can count";
      return this.#refuse({ code: "request_not_granted", field, needs: "nothing" });
    }
    const reserved = await requests.reserve({
      model,
      price: price && this.#priced(price),
      promptBound: bound,
      maxOutput: this.#maxOutput(model),
      isSeen: this.#wire.isStreaming && !this.#wire.hidesOutput(modelIdOf(model)),
      count: () => this.#counted(model),
      signal: this.#call.signal,
    });
    if ("refused" in reserved) return this.#refuse(reserved.refused);
    return this.#send(model, reserved.request);
  }

  async #refuse(cause: Cause): Promise<ProgramAnswer> {
    await this.#parts.requests.refuse(cause, this.#wire.model);
    return refused(this.#call, cause);
  }

  #maxOutput(model: string): number {
    const { models, requests } = this.#parts;
    const asked = this.#wire.maxOutput ?? requests.contract.model.max_output_tokens;
    return Math.min(asked, models.maxOutput(model) ?? asked);
  }

  /** What is kept for an hour costs twice the price of input to write. */
  #priced(price: TokenPrice): TokenPrice {
    if (!this.#wire.writesLongCache) return price;
    const dearer = (cacheWrite: number | undefined, input: number) => ({
      cacheWrite: Math.max(cacheWrite ?? input, 2 * input),
    });
    const { cacheWrite, input, longPrompt } = price;
    return {
      ...price,
      ...dearer(cacheWrite, input),
      ...(longPrompt && {
        longPrompt: { ...longPrompt, ...dearer(longPrompt.cacheWrite, longPrompt.input) },
      }),
    };
  }

  /** No token is less than a byte. Undefined: bytes are no bound, and the provider did not count. */
  async #boundOf(model: string): Promise<number | undefined> {
    const { addedTokens, mustBeCounted } = this.#wire;
    if (mustBeCounted) return this.#counted(model);
    const body = JSON.stringify(this.#bodyFor(model, 1));
    return Buffer.byteLength(body) + addedTokens + hiddenPrompt;
  }

  #bodyFor(model: string, maxOutput: number): Json {
    const { kind } = this.#parts.models.settingsOf(model);
    return this.#wire.body({ model: modelIdOf(model), kind, maxOutput });
  }

  async #counted(model: string): Promise<number | undefined> {
    const body = this.#wire.countBody(modelIdOf(model));
    if (body === undefined) return undefined;
    const signal = AbortSignal.any([this.#call.signal, AbortSignal.timeout(countTimeoutMs)]);
    try {
      const answer = await this.#ask(model, body, { action: "count" }, signal);
      const whole = await readWhole(answer);
      if (answer.statusCode !== 200) return undefined;
      const count = this.#call.protocol.countIn(objectIn(JSON.parse(whole.toString()), "count"));
      const isCount = typeof count === "number" && Number.isSafeInteger(count) && count > 0;
      return isCount ? Math.ceil(count * countMargin) + hiddenPrompt : undefined;
    } catch {
      return undefined;
    }
  }

  /** A program's own request to count: it costs nothing. */
  async #count(model: string): Promise<ProgramAnswer> {
    const body = this.#wire.countBody(modelIdOf(model));
    if (body === undefined) throw new Objection("Tokens cannot be counted here.");
    const answer = await this.#ask(model, body, { action: "count" }, this.#call.signal);
    return this.#passOn(model, answer, await readWhole(answer));
  }

  async #send(model: string, request: ReservedRequest): Promise<ProgramAnswer> {
    const stop = new AbortController();
    const forget = this.#parts.requests.onStop((cause) => stop.abort(new Stop(cause)));
    const signal = AbortSignal.any([this.#call.signal, stop.signal]);
    const { maxOutput } = request;
    const body = this.#bodyFor(model, maxOutput);
    let isPassedOn = false;
    try {
      const answer = await this.#ask(model, body, this.#call.route, signal);
      const { statusCode: status = 502 } = answer;
      if (status !== 200) {
        const whole = await readWhole(answer);
        await request.unanswered();
        return this.#passOn(model, answer, whole);
      }
      if (this.#wire.isStreaming) {
        isPassedOn = true;
        return this.#streamed({ answer, request, forget, signal });
      }
      return await this.#whole(model, answer, request);
    } catch (error) {
      if (wasNeverSent(error)) await request.unanswered();
      else await request.cut();
      if (error instanceof Stop || stop.signal.aborted) {
        return refused(this.#call, this.#parts.requests.stoppedBy ?? { code: "already_closed" });
      }
      if (this.#call.signal.aborted) throw error;
      return this.#unreachable(model);
    } finally {
      if (!isPassedOn) forget();
    }
  }

  async #whole(
    model: string,
    answer: IncomingMessage,
    request: ReservedRequest,
  ): Promise<ProgramAnswer> {
    const whole = await readWhole(answer);
    request.received = whole.length;
    try {
      const parsed = objectIn(JSON.parse(whole.toString()), "The answer");
      await request.complete(this.#call.protocol.answerIn(parsed));
    } catch (error) {
      if (!(error instanceof Objection || error instanceof SyntaxError)) throw error;
      await request.cut();
    }
    return this.#passOn(model, answer, whole);
  }

  #streamed(about: {
    readonly answer: IncomingMessage;
    readonly request: ReservedRequest;
    readonly forget: () => void;
    readonly signal: AbortSignal;
  }): ProgramAnswer {
    const { answer, forget, request } = about;
    const { body, protocol } = this.#call;
    const stream = protocol.stream(body as Json);
    const { requests } = this.#parts;
    const { contract } = requests;
    const describe = (): string | undefined => {
      const cause = requests.stoppedBy;
      return cause === null ? undefined : protocol.refusalEvent(wireRefusal(cause));
    };
    const type = answer.headers["content-type"] ?? "text/event-stream";
    return {
      status: 200,
      headers: {
        ...headersFor(answer),
        "content-type": type,
        "x-mandate-run": contract.parent.run_id,
      },
      body: followStream({ answer, stream, request, whyStopped: describe, done: forget }),
    };
  }

  #ask(model: string, body: Json, route: WireRoute, signal: AbortSignal): Promise<IncomingMessage> {
    const { header, protocol } = this.#call;
    return this.#parts.upstream.send({
      ...{ protocol, route, header, signal },
      settings: this.#parts.models.settingsOf(model),
      model: modelIdOf(model),
      isStreaming: route.action === "generate" && this.#wire.isStreaming,
      body: JSON.stringify(body),
    });
  }

  #passOn(model: string, answer: IncomingMessage, whole: Buffer): ProgramAnswer {
    const { statusCode: status = 502 } = answer;
    // The key is for the configured address alone: a redirect is not followed, and not passed on.
    if (status < 200 || (status >= 300 && status < 400)) return this.#unreachable(model);
    return {
      status,
      headers: { ...headersFor(answer), "content-type": "application/json" },
      body: this.#withoutKey(model, whole),
    };
  }

  /** A provider that quotes the key in an error must not show it to the program. */
  #withoutKey(model: string, whole: Buffer): Buffer {
    const { apiKey } = this.#parts.models.settingsOf(model);
    if (apiKey === undefined || !whole.includes(apiKey)) return whole;
    return Buffer.from(whole.toString().replaceAll(apiKey, "[key]"));
  }

  #unreachable(model: string): ProgramAnswer {
    const message = `The provider of ${model} could not be reached, or did not complete its answer.`;
    const { headers, ...answer } = refusalOf(this.#call.protocol, {
      ...{ status: 502, message, isBudget: false },
    });
    // The provider's own answer would allow another attempt, too.
    const { "x-should-retry": _, ...others } = headers;
    return { ...answer, headers: others };
  }
}

class Stop extends Error {
  override readonly cause: Cause;

  constructor(cause: Cause) {
    super(describeCause(cause));
    this.cause = cause;
  }
}

function wasNeverSent(error: unknown): boolean {
  const { code } = error instanceof Error ? (error as NodeJS.ErrnoException) : {};
  return code === "ECONNREFUSED" || code === "ENOTFOUND" || code === "EAI_AGAIN";
}
