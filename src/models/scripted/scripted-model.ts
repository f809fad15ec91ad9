import { type Clock, systemClock } from "../../ports/clock.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import {
  type Model,
  ModelFault,
  type ModelReply,
  type ModelRequest,
  type PromptToCount,
} from "../../ports/model.ts";
import { clip, headOf, oneLine } from "../../text.ts";
import { createChooseReply } from "./choose-reply.ts";
import { type OnPart, performReply, promptTokens } from "./give-reply.ts";
import type { Playbook, PlaybookReply, ScriptedReply } from "./playbook.ts";
import { compileInput, compileTemplate, findTemplateProblem } from "./template.ts";

/** What to answer, decided in code; a string is a reply of that text. */
export type Script = (request: ModelRequest) => Answer | Promise<Answer>;

type Answer = ScriptedReply | string;

/**
 * A model that answers from a playbook or from a function, and never from a language model. It keeps
 * nothing between requests. Its waits are measured by `clock`.
 *
 * @example const model = scriptedModel(({ messages }) => `I read ${messages.length} messages.`);
 */
export function scriptedModel(script: Playbook | Script, clock: Clock = systemClock): Model {
  const answer = typeof script === "function" ? script : playbookScript(script);
  const model: Model = (request, onPart) => {
    try {
      const reply = answer(request);
      if (reply instanceof Promise)
        return reply.then((each) => perform(each, request, onPart, clock));
      return Promise.resolve(perform(reply, request, onPart, clock));
    } catch (error) {
      return Promise.reject(error);
    }
  };
  return mayTellUsage(script) ? model : Object.assign(model, { countTokens });
}

/** Whether the script reports usage itself: its prompts cannot be counted in advance then. */
function mayTellUsage(script: Playbook | Script): boolean {
  return typeof script === "function" || script.replies.some(({ usage }) => usage !== undefined);
}

async function countTokens(prompt: PromptToCount): Promise<number> {
  return promptTokens(prompt);
}

function perform(
  answer: Answer,
  request: ModelRequest,
  onPart: OnPart,
  clock: Clock,
): ModelReply | Promise<ModelReply> {
  const reply = typeof answer === "string" ? { text: answer } : answer;
  return performReply(reply, request, onPart, clock);
}

function playbookScript(playbook: Playbook): (request: ModelRequest) => ScriptedReply {
  const choose = createChooseReply(playbook);
  const fill = new Map(playbook.replies.map((reply) => [reply, compileReply(reply, playbook)]));
  return (request) => {
    const reply = choose(request);
    const filled = reply === undefined ? undefined : fill.get(reply)?.(request);
    if (filled === undefined) throw noReply(playbook, request);
    return filled;
  };
}

function compileReply(
  reply: PlaybookReply,
  playbook: Playbook,
): (request: ModelRequest) => ScriptedReply {
  const text = reply.text === undefined ? undefined : compile(reply.text, playbook);
  const partial = reply.partial === undefined ? undefined : compile(reply.partial, playbook);
  const calls = reply.calls?.map((call) => ({ call, input: compileInput(call.input ?? {}) }));
  return (request) => ({
    ...reply,
    text: text?.(request),
    partial: partial?.(request),
    calls: calls?.map(({ call, input }) => ({ ...call, input: input(request) })),
  });
}

function compile(text: string, playbook: Playbook) {
  const problem = findTemplateProblem(text);
  if (problem === undefined) return compileTemplate(text);
  throw new MandateError("playbook-invalid", `${title(playbook)}: ${problem}`);
}

function noReply(playbook: Playbook, { caller, messages }: ModelRequest): ModelFault {
  const last = messages.at(-1);
  const from =
    last?.role === "tool" ? `the result of ${last.tool}` : `a message of the ${last?.role}`;
  const excerpt = last === undefined ? "nothing" : `${from}, "${headOf(last.text, 120)}"`;
  const message = `${title(playbook)} has no reply for profile "${caller.profile}", turn ${caller.turn}, attempt ${caller.attempt}, depth ${caller.depth}, try ${caller.try}, after ${excerpt}. Add one to its replies; one without "when" fits always.`;
  return new ModelFault("rejected", message);
}

function title(playbook: Playbook): string {
  return playbook.name === undefined ? "The playbook" : `The playbook "${playbook.name}"`;
}

/**
 * The scripted model when it is named and no playbook is given. Its answer says that nothing was
 * done; it never answers in place of a language model that is missing.
 */
export const modelWithoutPlaybook: Model = scriptedModel(({ caller }) => {
  // An exit rule asked for more than this answer: it has no other.
  if (caller.turn > 1) {
    throw new ModelFault(
      "unauthorized",
      "The scripted model has no playbook: give --playbook FILE.",
    );
  }
  const shown = clip(oneLine(caller.task), 121);
  return [
    `[scripted model] No playbook is given, so nothing was done about: ${shown}`,
    "Give scripted answers with --playbook FILE, or choose a language model with MANDATE_MODEL.",
  ].join("\n");
});
