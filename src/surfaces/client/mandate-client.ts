/** A typed client of the HTTP API, for Node and for browsers: `mandate/client`. */
import type { EventType } from "../../events/event.ts";
import type { InboxItem, InboxKind } from "../../events/inbox-item.ts";
import type { ToldEvent } from "../../events/summarize.ts";
import { type CallOptions, type Connection, callOperation } from "./call-operation.ts";
import { followStream } from "./follow-stream.ts";
import { type OperationName, type Operations, operationPlaces } from "./operations.ts";

export type { CallOptions } from "./call-operation.ts";
export { type ApiProblem, MandateApiError } from "./call-operation.ts";
export type { OperationName, Operations, Page } from "./operations.ts";

export interface MandateClientOptions {
  /** Where the server is: `http://127.0.0.1:4848`. */
  readonly url: string;
  /** Absent: the browser's cookie authenticates. */
  readonly token?: string | undefined;
  readonly fetch?: typeof fetch | undefined;
}

export interface EventsOptions {
  /**
   * Events with a greater `seq`, without an end. Absent: new events; for a run or a delegation all
   * its events, from the first to `run.finished` or `agent.subagent_closed`.
   */
  readonly after?: number | undefined;
  readonly runId?: string | undefined;
  readonly delegationId?: string | undefined;
  readonly types?: readonly EventType[] | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Gets what models write while they write it. It is not stored, and not sent again. */
  readonly onDelta?: ((delta: LiveDelta) => void) | undefined;
}

/** A piece of a model's answer that is being generated. */
export interface LiveDelta {
  readonly runId: string;
  readonly delegationId: string;
  readonly text: string;
}

export interface InboxEventsOptions {
  readonly after?: number | undefined;
  readonly runId?: string | undefined;
  readonly kinds?: readonly InboxKind[] | undefined;
  readonly signal?: AbortSignal | undefined;
}

const clientKeys = { url: true, token: true, fetch: true } satisfies Keys<MandateClientOptions>;
const eventsKeys = {
  after: true,
  runId: true,
  delegationId: true,
  types: true,
  signal: true,
  onDelta: true,
} satisfies Keys<EventsOptions>;
const inboxEventsKeys = {
  after: true,
  runId: true,
  kinds: true,
  signal: true,
} satisfies Keys<InboxEventsOptions>;

export type FollowedEvent = ToldEvent;

type InputOf<Name extends OperationName> = Operations[Name]["input"];

/** The input can be omitted when all its fields are optional. */
type Arguments<Input> =
  Readonly<Record<never, never>> extends Input
    ? [input?: Input, options?: CallOptions]
    : [input: Input, options?: CallOptions];

type Methods = {
  readonly [Name in OperationName]: (
    ...given: Arguments<InputOf<Name>>
  ) => Promise<Operations[Name]["reply"]>;
};

/** Defines a method for each operation of the table. */
const OperationMethods = class {
  constructor(connection: Connection) {
    for (const [name, place] of Object.entries(operationPlaces)) {
      const value = (input: Readonly<Record<string, unknown>> = {}, options: CallOptions = {}) =>
        callOperation(connection, place, input, options);
      Object.defineProperty(this, name, { value });
    }
  }
} as unknown as new (
  connection: Connection,
) => Methods;

/** Below the longest wait that a server accepts. */
const waitMs = 25_000;

/**
 * Every operation of the API is a method that takes one object: `client.getRun({ runId })`. Errors
 * of the server are thrown as `MandateApiError`. A lost POST is repeated with the same idempotency
 * key, so it is performed once.
 *
 * @example
 * const client = new MandateClient({ url: "http://127.0.0.1:4848", token });
 * const { runId } = await client.startRun({ task: "Which modules have no tests?" });
 */
export class MandateClient extends OperationMethods {
  readonly #connection: Connection;

  constructor(options: MandateClientOptions) {
    refuseUnknown("MandateClient", options, clientKeys);
    const { fetch: own, token, url } = options;
    const connection = {
      url: url.replace(/\/+$/, ""),
      token,
      // Browsers require that fetch is called without `this`.
      fetch: own ?? ((...given: Parameters<typeof fetch>) => fetch(...given)),
    };
    super(connection);
    this.#connection = connection;
  }

  /**
   * Events as they happen, once and in order. A broken connection is opened again after the last
   * event. Ends when the signal aborts or the loop is left; the events of one run or delegation end
   * with its last one.
   */
  async *events(options: EventsOptions = {}): AsyncGenerator<FollowedEvent> {
    refuseUnknown("events", options, eventsKeys);
    const { delegationId, onDelta, runId, signal, types } = options;
    const isStory = options.after === undefined && (runId ?? delegationId) !== undefined;
    const last = delegationId === undefined ? "run.finished" : "agent.subagent_closed";
    const asked = isStory && types !== undefined ? [...new Set([...types, last])] : types;
    const deltas = onDelta && 1;
    const query = { run: runId, delegation: delegationId, types: asked, deltas };
    const after = isStory ? 0 : options.after;
    const onPassing = onDelta && ((value: unknown) => onDelta(deltaOf(value)));
    const request = { path: "/events", query, after, signal, onPassing };
    for await (const { value } of followStream(this.#connection, request)) {
      const event = value as FollowedEvent;
      if (types === undefined || types.includes(event.type)) yield event;
      if (isStory && event.type === last) return;
    }
  }

  /** Items of the inbox, in the same way. */
  async *inboxEvents(options: InboxEventsOptions = {}): AsyncGenerator<InboxItem> {
    refuseUnknown("inboxEvents", options, inboxEventsKeys);
    const { after, kinds, runId, signal } = options;
    const request = { path: "/inbox/events", query: { run: runId, kinds }, after, signal };
    for await (const { value } of followStream(this.#connection, request)) {
      yield value as InboxItem;
    }
  }

  /** Waits until a run has finished or is orphaned; `state` says which. */
  async waitFor(
    runId: string,
    options: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<Operations["getRun"]["reply"]> {
    for (;;) {
      const run = await this.getRun({ runId, wait: waitMs }, options);
      if (run.state !== "running") return run;
    }
  }
}

function deltaOf(value: unknown): LiveDelta {
  const told = value as Readonly<Record<"run_id" | "sub_agent_id" | "text", string>>;
  return { runId: told.run_id, delegationId: told.sub_agent_id, text: told.text };
}

/** Every key of an options object, so that the compiler says when one is forgotten. */
type Keys<Options> = Readonly<Record<keyof Options, true>>;

/** Refuses misspelled keys: `runID` would silently follow all runs. */
function refuseUnknown(call: string, given: object, known: object): void {
  const unknown = Object.keys(given).find((key) => !Object.hasOwn(known, key));
  if (unknown === undefined) return;
  const keys = Object.keys(known).join(", ");
  throw new TypeError(`${call}: "${unknown}" is not known here. It takes: ${keys}.`);
}
