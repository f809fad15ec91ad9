import type { StoredEvent } from "../events/event.ts";
import { harmlessText } from "./harmless-text.ts";

/** What one event means to somebody who watches a session; undefined: nothing to see. */
export function describeDelta(event: StoredEvent): string | undefined {
  switch (event.type) {
    case "agent.model_turn": {
      const calls = event.payload.calls ?? [];
      const said = event.payload.text ? [`says: ${cut(event.payload.text, 2000)}`] : [];
      const called = calls.map(({ name, input }) => `calls ${name} ${cut(asText(input), 300)}`);
      const lines = [...said, ...called];
      return lines.length === 0 ? undefined : lines.join("\n");
    }
    case "agent.tool_completed":
      return `${event.payload.tool} gave: ${cut(event.payload.output, 300)}`;
    case "agent.tool_failed":
    case "agent.tool_outcome_unknown":
      return `${event.payload.tool} failed: ${cut(event.payload.error, 300)}`;
    case "agent.tool_denied":
      return `${event.payload.tool} was refused: ${cut(event.payload.error, 300)}`;
    case "agent.asked":
      return `asks a person: ${cut(event.payload.question, 300)}`;
    case "agent.answered":
      return `the person answered: ${cut(event.payload.answer ?? "nothing", 300)}`;
    default:
      // Remarks of watchers above all: two of them must not begin to talk to each other.
      return undefined;
  }
}

/** The latest part of what happened, within so many characters. */
export function describeDeltas(lines: readonly string[], most: number): string {
  const shown: string[] = [];
  let length = 0;
  for (const line of lines.toReversed()) {
    length += line.length + 1;
    if (length > most && shown.length > 0) break;
    shown.unshift(cut(line, most));
  }
  const left = lines.length - shown.length;
  return [...(left > 0 ? [`(${left} earlier entries left out)`] : []), ...shown].join("\n");
}

function asText(input: unknown): string {
  return JSON.stringify(input) ?? "";
}

/** Terminal sequences and the like are nobody's words. */
function cut(text: string, most: number): string {
  const plain = harmlessText(text.slice(0, most));
  return text.length > most ? `${plain}…` : plain;
}
