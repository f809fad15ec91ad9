import type { Model, ModelReply, ModelRequest } from "../ports/model.ts";

/** The model name of plans. It is always available, whatever is configured. */
export const planModelName = "mandate/plan";

/** The model name of workflow scripts; always available, too. */
export const workflowModelName = "mandate/workflow";

interface Runner {
  /** The word before the hash in the context, and the tool's parameter for it. */
  readonly noun: "plan" | "workflow";
  readonly tool: string;
  /** The task can be the document itself. */
  readonly isTask: boolean;
  readonly refused: string;
  readonly missing: string;
}

/**
 * Runs what is written down without a language model: the first turn calls the tool that carries it
 * out, the next answers with its report, or with the reason why it was not run. It depends on the
 * request alone, so a recovered run gets the same answers. It costs nothing.
 */
function runnerModel(runner: Runner): Model {
  return async (request) => {
    if (request.caller.turn === 1) {
      const input = documentIn(request, runner);
      return reply(request, runner, input === undefined ? { text: runner.missing } : { input });
    }
    const last = request.messages.findLast(({ role }) => role === "tool");
    const isRun = last?.role === "tool" && !last.isError;
    const text = last?.text ?? "";
    return reply(request, runner, { text: isRun ? text : `${runner.refused} ${text}`.trim() });
  };
}

/**
 * The document: the task as JSON, or the hash of a stored one in a line "plan HASH" of the context,
 * which keeps large ones out of prompts. Undefined: neither.
 */
function documentIn({ caller, messages }: ModelRequest, { isTask, noun }: Runner): unknown {
  try {
    const document: unknown = isTask ? JSON.parse(caller.task) : null;
    if (typeof document === "object" && document !== null) return document;
  } catch {
    // The context is no JSON if it names a stored plan.
  }
  const opening = messages.find(({ role }) => role === "user")?.text ?? "";
  const hash = new RegExp(`^${noun} ([0-9a-f]{64})$`, "m").exec(opening)?.[1];
  return hash === undefined ? undefined : { [noun]: hash };
}

function reply(
  { caller, model }: ModelRequest,
  { noun, tool }: Runner,
  { input, text = "" }: { readonly input?: unknown; readonly text?: string },
): ModelReply {
  const isCall = input !== undefined;
  return {
    text,
    calls: isCall ? [{ id: `${noun}_${caller.attempt}`, name: tool, input }] : [],
    finish: isCall ? "tool-calls" : "stop",
    usage: { prompt: 0, completion: 0 },
    served: model,
  };
}

/** The models of runners, by name. */
export const runnerModels = {
  [planModelName]: runnerModel({
    noun: "plan",
    tool: "submit_plan",
    isTask: true,
    refused: "The plan was not run.",
    missing: `${planModelName} is no language model: it runs a plan. Give it one as JSON for its task, or use mandate run --plan FILE.`,
  }),
  [workflowModelName]: runnerModel({
    noun: "workflow",
    tool: "perform_workflow",
    isTask: false,
    refused: "The workflow failed.",
    missing: `${workflowModelName} is no language model: it runs a workflow script. Use mandate workflow run FILE.`,
  }),
} satisfies Readonly<Record<string, Model>>;
