import type { Contract } from "../contracts/contract.ts";
import type { ModelReply, ModelRequest, ToolCall } from "../ports/model.ts";
import type { ToolResult } from "../tools/tool.ts";

/**
 * The user's own functions around what agents do. They run for every agent at every depth, after a
 * crash too; there is no path around them. One that throws refuses: the turn or the delegation
 * fails, the call is denied.
 */
export interface Middleware {
  turn?(context: TurnContext, next: () => Promise<ModelReply>): Promise<ModelReply>;
  call?(context: CallContext, next: (call?: ToolCall) => Promise<ToolResult>): Promise<ToolResult>;
  delegation?(context: DelegationContext, next: () => Promise<void>): Promise<void>;
}

export interface DelegationContext {
  readonly runId: string;
  readonly delegationId: string;
  readonly parentId: string | null;
  readonly depth: number;
  readonly contract: Contract;
}

export interface TurnContext extends DelegationContext {
  readonly request: ModelRequest;
}

export interface CallContext extends DelegationContext {
  readonly call: ToolCall;
}

/** The first middleware is the outermost. What lies inside is done once, however often it is asked for. */
export function compose(middleware: readonly Middleware[]): Middleware {
  const turns = middleware.flatMap((one) => (one.turn ? [one.turn.bind(one)] : []));
  const calls = middleware.flatMap((one) => (one.call ? [one.call.bind(one)] : []));
  const delegations = middleware.flatMap((one) =>
    one.delegation ? [one.delegation.bind(one)] : [],
  );
  return {
    ...(turns.length > 0 && {
      turn: (context, next) =>
        turns.reduceRight<() => Promise<ModelReply>>(
          (inner, one) => () => one(context, inner),
          once(next),
        )(),
    }),
    ...(calls.length > 0 && {
      call: (context, next) =>
        calls.reduceRight<(call?: ToolCall) => Promise<ToolResult>>(
          (inner, one) =>
            (call = context.call) =>
              // A middleware that passes no call on means the call that it was given.
              one({ ...context, call }, (changed = call) => inner(changed)),
          once(next),
        )(),
    }),
    ...(delegations.length > 0 && {
      delegation: (context, next) =>
        delegations.reduceRight<() => Promise<void>>(
          (inner, one) => () => one(context, inner),
          once(next),
        )(),
    }),
  };
}

/** Tokens are reserved for one request, and a call is in the log once: the first outcome stays. */
function once<Parameters extends unknown[], Result>(
  next: (...parameters: Parameters) => Promise<Result>,
): (...parameters: Parameters) => Promise<Result> {
  let outcome: Promise<Result> | undefined;
  return (...parameters) => {
    outcome ??= next(...parameters);
    return outcome;
  };
}
