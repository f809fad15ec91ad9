import { type CallEnd, callEndIn, saidIn } from "../events/agent-work.ts";
import type { StoredEvent } from "../events/event.ts";
import { clip, headOf } from "../text.ts";
import { harmlessLine, harmlessText } from "./harmless-text.ts";

/** The text of an event for a watcher; undefined: not shown. */
export function describeDelta(event: StoredEvent): string | undefined {
  switch (event.type) {
    case "agent.asked":
      return `asks a person: ${cut(event.payload.question, 300)}`;
    case "agent.answered":
      if (event.payload.by !== "person") return "no answer in time";
      return `the person answered: ${cut(event.payload.answer ?? "", 300)}`;
    case "agent.interjected": {
      const { from, message, message_id: id } = event.payload;
      if (id === undefined) return undefined;
      return `${from === "person" ? "the person" : "its caller"} says: ${cut(message, 2000)}`;
    }
    default:
      // Above all remarks of watchers: two watchers must not start a conversation.
      return describeWork(event);
  }
}

function describeWork(event: StoredEvent): string | undefined {
  const { calls = [], text = "" } = saidIn(event) ?? {};
  const lines = text === "" ? [] : [`says: ${cut(text, 2000)}`];
  for (const { input, name, title } of calls) {
    lines.push(`calls ${nameOf(name)} ${cut(title ?? asText(input), 300)}`);
  }
  const end = callEndIn(event);
  if (end !== undefined) {
    const about = end.title === undefined ? "" : ` ${cut(end.title, 300)}`;
    lines.push(`${nameOf(end.tool)}${about} ${cameTo[end.outcome]}: ${cut(end.output, 300)}`);
  }
  return lines.length === 0 ? undefined : lines.join("\n");
}

const cameTo: Readonly<Record<CallEnd["outcome"], string>> = {
  done: "gave",
  failed: "failed",
  refused: "was refused",
  unknown: "failed",
};

/** The latest lines that fit into `most` characters. */
export function describeDeltas(lines: readonly string[], most: number): string {
  const shown: string[] = [];
  let length = 0;
  for (const line of lines.toReversed()) {
    length += line.length + 1;
    if (length > most && shown.length > 0) break;
    shown.unshift(clip(line, most + 1));
  }
  const left = lines.length - shown.length;
  return [...(left > 0 ? [`(${left} earlier entries left out)`] : []), ...shown].join("\n");
}

function asText(input: unknown): string {
  return JSON.stringify(input) ?? "";
}

/** A model may call tools by any name. */
function nameOf(tool: string): string {
  return harmlessLine(tool, 80);
}

/**
 * Shows hidden characters and indents further lines, so that no text in a session can imitate another
 * entry, such as an answer of the person.
 */
function cut(text: string, most: number): string {
  const plain = harmlessText(headOf(text, most)).replaceAll("\n", "\n    ");
  return text.length > most ? `${plain}…` : plain;
}
