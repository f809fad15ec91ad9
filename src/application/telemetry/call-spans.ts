import { type Attributes, SpanKind } from "@opentelemetry/api";
import type { CallEnd } from "../../events/agent-work.ts";
import type { RecordedCall, StoredEvent } from "../../events/event.ts";
import type { CallTrace, DelegationTrace } from "./delegation-trace.ts";
import { clipContent, names, shorten } from "./gen-ai.ts";
import { endSpan, failSpan, type SpanParent, type SpanTree } from "./span-tree.ts";

const errorTypes: Readonly<Record<Exclude<CallEnd["outcome"], "done">, string>> = {
  failed: "tool_error",
  refused: "denied",
  unknown: "outcome_unknown",
};

/** Makes an `execute_tool` span for each call, also for a refused one. */
export class CallSpans {
  readonly #tree: SpanTree;
  readonly #capturesContent: boolean;
  /** The arguments of calls that have not started. */
  readonly #inputs = new Map<string, RecordedCall>();

  constructor(tree: SpanTree, capturesContent: boolean) {
    this.#tree = tree;
    this.#capturesContent = capturesContent;
  }

  expect({ id }: DelegationTrace, calls: readonly RecordedCall[]): void {
    if (!this.#capturesContent) return;
    for (const call of calls) this.#inputs.set(`${id} ${call.id}`, call);
  }

  start(delegation: DelegationTrace, call: CallTrace, parent: SpanParent): void {
    const beginning = {
      name: `execute_tool ${shorten(call.tool)}`,
      key: keyOf(delegation, call),
      kind: SpanKind.INTERNAL,
      at: call.startedAt,
      attributes: {
        [names.operation]: "execute_tool",
        [names.toolName]: shorten(call.tool),
        [names.toolType]: "function",
        [names.callId]: shorten(call.id),
        [names.agentId]: delegation.id,
        [names.conversation]: delegation.created.run_id,
        "mandate.attempt": call.attempt,
        ...this.#argumentsOf(`${delegation.id} ${call.id}`),
      },
    };
    call.span = this.#tree.start(beginning, parent);
  }

  end(
    delegation: DelegationTrace,
    { end, event }: { readonly end: CallEnd; readonly event: StoredEvent },
    parent: SpanParent,
  ): void {
    const { callId: id, outcome, output, tool } = end;
    let call = delegation.calls.get(id);
    if (call?.span === undefined) {
      // The call was refused before it started, or only its end was reported.
      const { attempt } = delegation;
      call = { id, tool, startedAt: event.at, attempt, span: undefined };
      this.start(delegation, call, parent);
    }
    const { span, startedAt } = call;
    if (span === undefined) return;
    if (event.type === "agent.tool_denied") {
      span.addEvent("mandate.denied", { "mandate.rule": event.payload.rule }, new Date(event.at));
    }
    if (event.type === "agent.tool_completed") {
      if (outcome === "failed") failSpan(span, "delegation_failed");
    } else if (outcome !== "done") failSpan(span, errorTypes[outcome]);
    if (this.#capturesContent) span.setAttribute(names.callResult, clipContent(output));
    endSpan(span, startedAt, event.at);
  }

  /** The open call that created a child. */
  parentFor(delegation: DelegationTrace, callId: string): SpanParent | undefined {
    // The call id of a plan's step begins with that of the plan.
    const planned = callId.slice(0, Math.max(0, callId.lastIndexOf("/")));
    const call = delegation.calls.get(callId) ?? delegation.calls.get(planned);
    return call?.span && { span: call.span, key: keyOf(delegation, call) };
  }

  #argumentsOf(key: string): Attributes {
    const call = this.#inputs.get(key);
    this.#inputs.delete(key);
    if (call === undefined) return {};
    return {
      [names.callArguments]: clipContent(JSON.stringify(call.input) ?? call.malformed ?? ""),
    };
  }
}

function keyOf({ id }: DelegationTrace, call: CallTrace): string {
  return `call ${id} ${call.attempt} ${call.id}`;
}
