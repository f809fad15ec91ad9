import type { Message } from "../../ports/model.ts";
import type { Tool } from "../../tools/tool.ts";
import { incidental, plainValue } from "./comparable-events.ts";

/** Gives what two conversations have in common where they mean the same delegation. */
export type NameOf = (id: string) => string | undefined;

/** The tool of a name, for what its definition says of its results. */
export type FindTool = (name: string) => Pick<Tool, "describesChildren"> | undefined;

/**
 * What a model was shown, in one text: equal for two requests to which the same is an answer. Ids of
 * its own children are named after their place, and what its caller is told of a child is without
 * times, hashes and costs. Everything else counts to the letter.
 */
export function shownMessages(
  messages: readonly Message[],
  nameOf: NameOf,
  find: FindTool,
): string {
  return JSON.stringify(messages.map((message) => shown(message, nameOf, find)));
}

function shown(message: Message, nameOf: NameOf, find: FindTool): unknown {
  const rename = (text: string): string => text.replace(idLike, (id) => nameOf(id) ?? id);
  switch (message.role) {
    case "user":
      return ["user", rename(message.text)];
    case "assistant":
      return ["assistant", message.text, plainValue(message.calls, rename, nothing)];
    case "tool": {
      const { callId, isError, text, tool } = message;
      const isAboutChildren = find(tool)?.describesChildren === true;
      const said = isAboutChildren ? plainValue(text, rename, leftOut) : rename(text);
      return ["tool", callId, isError, said];
    }
    default:
      return message satisfies never;
  }
}

const idLike = /\b(?:[0-9a-f]{8}|[0-9a-f]{6})\b/g;
const leftOut: ReadonlySet<string> = new Set([...incidental, "cost"]);
const nothing: ReadonlySet<string> = new Set();
