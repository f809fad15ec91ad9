import type { Model, ModelReply, ModelRequest } from "../ports/model.ts";

/** Always available, whatever is configured. */
export const planModelName = "mandate/plan";

/**
 * Runs a written plan without a language model: the first turn submits the plan, the next answers
 * with its report, or with the reason why it was not run. It depends on the request alone, so a
 * recovered run gets the same answers. It costs nothing.
 */
export const planModel: Model = async (request) => {
  if (request.caller.turn === 1) {
    const input = planIn(request);
    return reply(request, input === undefined ? { text: notAPlan } : { input });
  }
  const last = request.messages.findLast(({ role }) => role === "tool");
  const isRun = last?.role === "tool" && !last.isError;
  const text = last?.text ?? "";
  return reply(request, { text: isRun ? text : `The plan was not run. ${text}`.trim() });
};

const notAPlan = `${planModelName} is no language model: it runs a plan. Give it one as JSON for its task, or use mandate run --plan FILE.`;

/**
 * The plan: the task as JSON, or the hash of a stored plan in a line "plan HASH" of the context,
 * which keeps large plans out of prompts. Undefined: no plan.
 */
function planIn({ caller, messages }: ModelRequest): unknown {
  try {
    const document: unknown = JSON.parse(caller.task);
    if (typeof document === "object" && document !== null) return document;
  } catch {
    // Not JSON: the context may name a stored plan.
  }
  const opening = messages.find(({ role }) => role === "user")?.text ?? "";
  const hash = /^plan ([0-9a-f]{64})$/m.exec(opening)?.[1];
  return hash === undefined ? undefined : { plan: hash };
}

function reply(
  { caller, model }: ModelRequest,
  { input, text = "" }: { readonly input?: unknown; readonly text?: string },
): ModelReply {
  const isCall = input !== undefined;
  return {
    text,
    calls: isCall ? [{ id: `plan_${caller.attempt}`, name: "submit_plan", input }] : [],
    finish: isCall ? "tool-calls" : "stop",
    usage: { prompt: 0, completion: 0 },
    served: model,
  };
}
