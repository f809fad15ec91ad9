import { type Attributes, SpanKind, type Tracer } from "@opentelemetry/api";
import { callEndIn, saidIn } from "../../events/agent-work.ts";
import { shownName } from "../../events/delegation.ts";
import type { StoredEvent } from "../../events/event.ts";
import { CallSpans } from "./call-spans.ts";
import {
  agentAttributes,
  callBegunIn,
  closingAttributes,
  type DelegationTrace,
  follow,
  markOf,
  newDelegationTrace,
} from "./delegation-trace.ts";
import {
  inputMessages,
  modelAttributes,
  names,
  outputMessages,
  shorten,
  turnAttributes,
} from "./gen-ai.ts";
import {
  endSpan,
  failSpan,
  type SpanIds,
  type SpanParent,
  SpanTree,
  traceIdOf,
} from "./span-tree.ts";

export interface TraceOptions {
  /** The ids of our own provider; another provider makes its own. */
  readonly ids?: SpanIds | undefined;
  /** Include the content of messages and calls. */
  readonly capturesContent?: boolean | undefined;
}

/** The span tree of one run, made from its events alone. */
export class RunTrace {
  readonly #tree: SpanTree;
  readonly #calls: CallSpans;
  readonly #capturesContent: boolean;
  readonly #delegations = new Map<string, DelegationTrace>();
  #task = "";
  #root: string | undefined;
  #isPast: boolean;

  /**
   * While earlier events are read, no spans are made; `continueTrace` makes those that are still
   * open.
   */
  constructor(tracer: Tracer, { ids, capturesContent = false }: TraceOptions, isPast: boolean) {
    this.#tree = new SpanTree(tracer, ids);
    this.#calls = new CallSpans(this.#tree, capturesContent);
    this.#capturesContent = capturesContent;
    this.#isPast = isPast;
  }

  /** Ends the reading of earlier events: everything open gets its span. */
  continueTrace(): void {
    this.#isPast = false;
    // Delegations come in the order of creation, parents first.
    for (const delegation of this.#delegations.values()) {
      this.#startAgent(delegation);
      for (const call of delegation.calls.values()) {
        this.#calls.start(delegation, call, parentOf(delegation));
      }
    }
  }

  hear(event: StoredEvent): void {
    if (event.type === "run.started") {
      this.#tree.traceId = traceIdOf(event.run_id, event.hash);
      this.#task = event.payload.task;
    }
    if (event.type === "agent.subagent_created") this.#add(event);
    const about = event.type === "run.planned" ? event.payload.by : event.sub_agent_id;
    const delegation = this.#delegations.get(about ?? "");
    if (delegation === undefined) return;
    // An end is handled before the state changes, a beginning after it.
    if (!this.#isPast) this.#tellEnd(delegation, event);
    follow(delegation, event);
    if (!this.#isPast) this.#tellStart(delegation, event);
    if (event.type === "agent.subagent_closed") this.#delegations.delete(delegation.id);
  }

  #add(event: StoredEvent<"agent.subagent_created">): void {
    const delegation = newDelegationTrace(event);
    this.#root ??= delegation.id;
    this.#delegations.set(delegation.id, delegation);
    if (!this.#isPast) this.#startAgent(delegation);
  }

  #tellStart(delegation: DelegationTrace, event: StoredEvent): void {
    const [name, attributes] = markOf(event) ?? [];
    if (name !== undefined) delegation.span?.addEvent(name, attributes, new Date(event.at));
    const begun = callBegunIn(event);
    const call = begun && delegation.calls.get(begun.id);
    if (call) this.#calls.start(delegation, call, parentOf(delegation));
  }

  #tellEnd(delegation: DelegationTrace, event: StoredEvent): void {
    this.#calls.expect(delegation, saidIn(event)?.calls ?? []);
    switch (event.type) {
      case "agent.model_turn": {
        const { text = "", calls = [] } = event.payload;
        const said = this.#capturesContent && {
          [names.outputMessages]: outputMessages(text, calls),
        };
        const attributes = { ...turnAttributes(event), ...said };
        tellRequest(this.#tree, delegation, { event, attributes }, parentOf(delegation));
        break;
      }
      case "agent.subagent_closed":
        this.#endAgent(delegation, event);
        break;
      default: {
        const end = callEndIn(event);
        if (end !== undefined) this.#calls.end(delegation, { end, event }, parentOf(delegation));
      }
    }
  }

  #startAgent(delegation: DelegationTrace): void {
    const { created } = delegation;
    const isRoot = delegation.id === this.#root;
    const asked = isRoot ? this.#task : created.payload.title;
    const beginning = {
      name: `invoke_agent ${shorten(shownName(created.payload))}`,
      key: agentKey(delegation.id),
      kind: SpanKind.INTERNAL,
      at: created.at,
      attributes: {
        ...agentAttributes(created),
        ...(this.#capturesContent && { [names.inputMessages]: inputMessages(asked) }),
      },
    };
    delegation.span = this.#tree.start(beginning, isRoot ? null : this.#callerOf(delegation));
  }

  #endAgent(delegation: DelegationTrace, event: StoredEvent<"agent.subagent_closed">): void {
    const { span, request, output } = delegation;
    const { final_status: status, close_reason: reason } = event.payload;
    if (request !== null) tellFailedRequest(this.#tree, delegation, event, parentOf(delegation));
    for (const call of delegation.calls.values()) {
      if (call.span === undefined) continue;
      failSpan(call.span, reason);
      endSpan(call.span, call.startedAt, event.at);
    }
    if (span === undefined) return;
    span.setAttributes(closingAttributes(event));
    if (this.#capturesContent && output !== null) {
      span.setAttribute(names.outputMessages, outputMessages(output, []));
    }
    if (status === "failed") failSpan(span, reason);
    endSpan(span, delegation.created.at, event.at);
  }

  /**
   * The parent of a span: the call that created the child, or the agent. A watcher belongs to the
   * root.
   */
  #callerOf({ created }: DelegationTrace): SpanParent {
    const { parent_id: parentId, call_id: callId } = created.payload;
    const id = parentId ?? this.#root ?? "";
    const parent = this.#delegations.get(id);
    if (parent === undefined) return { span: undefined, key: agentKey(id) };
    const call = callId === null ? undefined : this.#calls.parentFor(parent, callId);
    return call ?? parentOf(parent);
  }
}

const agentKey = (id: string): string => `agent ${id}`;

function parentOf({ id, span }: DelegationTrace): SpanParent {
  return { span, key: agentKey(id) };
}

/** Makes a `chat` span at the end of a request, with all of its attempts. */
function tellRequest(
  tree: SpanTree,
  delegation: DelegationTrace,
  end: { readonly event: StoredEvent; readonly attributes: Attributes; readonly error?: string },
  parent: SpanParent,
): void {
  const { created } = delegation;
  const { event, attributes, error } = end;
  const number = event.type === "agent.model_turn" ? event.payload.request : undefined;
  const request = number === undefined ? delegation.request : null;
  const begunAt =
    number === undefined ? request?.startedAt : delegation.programRequests.get(number);
  const startedAt = begunAt ?? event.at;
  const model = attributes[names.requestModel];
  const beginning = {
    name: model === undefined ? "chat" : `chat ${String(model)}`,
    key: `chat ${delegation.id} ${event.seq}`,
    kind: SpanKind.CLIENT,
    at: startedAt,
    attributes: {
      [names.operation]: "chat",
      [names.conversation]: event.run_id,
      [names.agentId]: delegation.id,
      [names.agentName]: shorten(shownName(created.payload)),
      "mandate.attempt": delegation.attempt,
      ...attributes,
    },
  };
  const span = tree.start(beginning, parent);
  for (const { at, what, delayMs } of request?.retries ?? []) {
    const retry = { "mandate.retry.what": what, "mandate.retry.delay_ms": delayMs };
    span.addEvent("mandate.retry", retry, new Date(at));
  }
  if (error !== undefined) failSpan(span, error);
  endSpan(span, startedAt, error === undefined ? event.at : (request?.settledAt ?? event.at));
}

/** Makes the span of a request without an answer; its model is in the seal. */
function tellFailedRequest(
  tree: SpanTree,
  delegation: DelegationTrace,
  event: StoredEvent<"agent.subagent_closed">,
  parent: SpanParent,
): void {
  const { close_reason: error, seal } = event.payload;
  const attributes = seal.requested === undefined ? {} : modelAttributes(seal.requested);
  tellRequest(tree, delegation, { event, attributes, error }, parent);
}
