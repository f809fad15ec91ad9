import type { Message } from "../ports/model.ts";

/** The latest messages that stay as they are. */
const keep = 6;
const stubLength = 200;

/**
 * Shortens a conversation that no longer fits its model: what tools said earlier is cut to its
 * beginning; the task, the turns and the latest results stay. Pure, so that a conversation can be
 * rebuilt from the log.
 */
export function compact(messages: readonly Message[]): Message[] {
  return messages.map((message, index) => {
    if (message.role !== "tool" || index >= messages.length - keep) return message;
    if (message.text.length <= stubLength) return message;
    return {
      ...message,
      text: `${message.text.slice(0, stubLength)}\n[… shortened to save space; call the tool again if it is needed]`,
    };
  });
}
