import type { Model, ModelReply, ModelRequest } from "../ports/model.ts";
import { ModelFault } from "../ports/model-fault.ts";

/** The name under which it can always be had, whatever is configured. */
export const planModelName = "mandate/plan";

/**
 * Runs a plan that somebody wrote down, without a language model: submits what it was given, and
 * answers with what came of it. It decides from the request alone, so it says the same again after
 * a crash, and it costs nothing.
 */
export const planModel: Model = async (request) => {
  if (request.caller.turn === 1) return reply(request, { input: planIn(request) });
  const last = request.messages.findLast(({ role }) => role === "tool");
  if (last?.role !== "tool" || last.isError) {
    throw new ModelFault("rejected", `The plan was not run. ${last?.text ?? ""}`.trim());
  }
  return reply(request, { text: last.text });
};

/**
 * Where the plan stands: the task is the plan as JSON, or the context has a line "plan" with the
 * hash of one that is stored, since a large one is no text for a prompt.
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
  if (hash !== undefined) return { plan: hash };
  throw new ModelFault(
    "rejected",
    `${planModelName} is no language model: it runs a plan. Give it one as JSON for its task, or use mandate run --plan FILE.`,
  );
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
