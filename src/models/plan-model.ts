import type { Model, ModelReply, ModelRequest } from "../ports/model.ts";

/** The name under which it can always be had, whatever is configured. */
export const planModelName = "mandate/plan";

/**
 * Runs a written plan without a language model: submits what it was given, and
 * answers with what came of it, or why nothing did: whether that is a success is not for a model to
 * say. It decides from the request alone, so it says the same again after a crash, and it costs
 * nothing.
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
 * Where the plan stands: the task is the plan as JSON, or the context has a line "plan" with the
 * hash of one that is stored, since a large one is no text for a prompt. Undefined: nowhere.
 */
function planIn({ caller, messages }: ModelRequest): unknown {
  try {
    const document: unknown = JSON.parse(caller.task);
    if (typeof document === "object" && document !== null) return document;
  } catch {
    // A sentence for people, then.
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
