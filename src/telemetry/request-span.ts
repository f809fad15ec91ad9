import { type Attributes, SpanKind } from "@opentelemetry/api";
import { shownName } from "../events/delegation.ts";
import type { StoredEvent } from "../events/event.ts";
import type { DelegationTrace } from "./delegation-trace.ts";
import { modelAttributes, names, shorten } from "./gen-ai.ts";
import { endSpan, failSpan, type SpanParent, type SpanTree } from "./span-tree.ts";

/** A `chat` span: one request to a model with all its tries, when it is over. */
export function tellRequest(
  tree: SpanTree,
  delegation: DelegationTrace,
  end: { readonly event: StoredEvent; readonly attributes: Attributes; readonly error?: string },
  parent: SpanParent,
): void {
  const { request, created } = delegation;
  const { event, attributes, error } = end;
  const startedAt = request?.startedAt ?? event.at;
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

/** It was never answered; which model it went to, the seal says. */
export function tellFailedRequest(
  tree: SpanTree,
  delegation: DelegationTrace,
  event: StoredEvent<"agent.subagent_closed">,
  parent: SpanParent,
): void {
  const { close_reason: error, seal } = event.payload;
  const attributes = seal.requested === undefined ? {} : modelAttributes(seal.requested);
  tellRequest(tree, delegation, { event, attributes, error }, parent);
}
