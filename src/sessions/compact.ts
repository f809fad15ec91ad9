import type { EventPayloads } from "../events/event.ts";
import type { Message } from "../ports/model.ts";
import { stableHeadOf } from "../text.ts";

/**
 * How a conversation was shortened, as recorded in its event. Conversations are rebuilt from these numbers:
 * the numbers may change between versions, the functions of this file may not.
 */
export type Shortening = NonNullable<EventPayloads["agent.compacted"]["shortening"]>;

/** From the mildest to the strongest; each step includes those before it. */
const ladder: readonly Shortening[] = [
  { keep: 3, old: 200 },
  { keep: 1, old: 200 },
  { keep: 1, old: 200, recent: 8000 },
  { keep: 1, old: 200, recent: 8000, said: 500 },
  { keep: 1, old: 200, recent: 8000, said: 500, turns: 4 },
  { keep: 1, old: 200, recent: 2000, said: 500, turns: 1 },
  { keep: 0, old: 200, said: 200, turns: 1 },
];

/**
 * The mildest shortening to at most `most` bytes, if possible to three quarters of that, so that the next
 * turns need no further one. If none is enough, the strongest; undefined when nothing can be removed.
 */
export function chooseShortening(
  messages: readonly Message[],
  most: number,
): Shortening | undefined {
  const now = sizeOfAll(messages);
  const choices = ladder
    .map((by) => ({ by, size: sizeOfAll(shorten(messages, by)) }))
    .filter(({ size }) => size < now);
  const chosen =
    choices.find(({ size }) => size <= (most * 3) / 4) ??
    choices.find(({ size }) => size <= most) ??
    choices.at(-1);
  return chosen?.by;
}

/**
 * Shortens a conversation that does not fit its model's window. The task, the latest user message and the
 * latest turn stay, and every call keeps its result. Pure, so that a conversation can be rebuilt from the
 * log.
 */
export function shorten(messages: readonly Message[], by: Shortening): Message[] {
  const left = by.turns === undefined ? messages : withoutOldTurns(messages, by.turns);
  const recent = startOfTurn(left, by.keep);
  return left.map((message, index) => {
    const isRecent = index >= recent;
    switch (message.role) {
      case "tool":
        return shortenResult(message, isRecent ? by.recent : by.old);
      case "assistant":
        return isRecent || by.said === undefined ? message : shortenAnswer(message, by.said);
      case "user":
        return message;
      default:
        return message satisfies never;
    }
  });
}

/** The index at which the last `turns` turns begin. */
function startOfTurn(messages: readonly Message[], turns: number): number {
  let start = messages.length;
  for (let left = turns; left > 0 && start > 0; ) {
    start--;
    if (messages[start]?.role === "assistant") left--;
  }
  return start;
}

const removed = "[… earlier messages were removed to fit the model's window]";

function withoutOldTurns(messages: readonly Message[], turns: number): readonly Message[] {
  const start = startOfTurn(messages, turns);
  const end = messages.findIndex(({ role, text }) => role === "assistant" || text === removed);
  if (end < 0 || end >= start) return messages;
  const middle = messages.slice(end, start).filter(({ text }) => text !== removed);
  const request = middle.findLast(({ role }) => role === "user");
  if (middle.every((message) => message === request)) return messages;
  const note: Message = { role: "user", text: removed };
  const kept = request === undefined ? [note] : [note, request];
  return [...messages.slice(0, end), ...kept, ...messages.slice(start)];
}

type ToolMessage = Extract<Message, { role: "tool" }>;
type AssistantMessage = Extract<Message, { role: "assistant" }>;

const cutResult =
  "[… shortened to fit the model's window; read a smaller part again if you need the rest]";

/** Keeps a last line in brackets, which says where the whole output is or how to read on. */
function shortenResult(message: ToolMessage, limit: number | undefined): ToolMessage {
  if (limit === undefined) return message;
  const lines = message.text.split("\n");
  if (lines.at(-1) === cutResult) lines.pop();
  const note = lines.at(-1) ?? "";
  const isNote = lines.length > 1 && note.length <= longestNote && /^\[.*\]$/.test(note);
  if (isNote) lines.pop();
  const body = lines.join("\n");
  const text = [stableHeadOf(body, limit), ...(isNote ? [note] : []), cutResult].join("\n");
  return text.length < message.text.length ? { ...message, text } : message;
}

const longestNote = 400;
const cutWords = " [… shortened]";

/**
 * Does not change an answer with provider data: signatures cover the whole answer, and some providers reject
 * a conversation without them.
 */
function shortenAnswer(message: AssistantMessage, limit: number): AssistantMessage {
  if (message.providerData !== undefined) return message;
  const text = shortenText(message.text, limit);
  const calls = message.calls.map((call) => {
    const { input, malformed, ...rest } = call;
    const size = jsonOf(input).length + (malformed?.length ?? 0);
    if (size <= limit) return call;
    const short = { ...rest, input: shortenInput(input, limit) };
    return malformed === undefined
      ? short
      : { ...short, malformed: stableHeadOf(malformed, limit) };
  });
  const isSame = text === message.text && calls.every((call, at) => call === message.calls[at]);
  return isSame ? message : { ...message, text, calls };
}

/** The arguments, each cut; if there are too many, the beginning of their JSON. */
function shortenInput(input: unknown, limit: number): unknown {
  const json = jsonOf(input);
  const named = cutArguments(input, limit);
  const isEnough = named !== undefined && jsonOf(named).length <= limit * 4;
  const short = isEnough ? named : { shortened: shortenText(json, limit) };
  return jsonOf(short).length < json.length ? short : input;
}

function cutArguments(input: unknown, limit: number): object | undefined {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return undefined;
  const entries = Object.entries(input).map(([name, value]): [string, unknown] => {
    const text = typeof value === "string" ? value : jsonOf(value);
    const short = shortenText(text, limit);
    return [name, short === text ? value : short];
  });
  return Object.fromEntries(entries);
}

function jsonOf(value: unknown): string {
  return JSON.stringify(value) ?? "";
}

function shortenText(text: string, limit: number): string {
  const short = `${stableHeadOf(text, limit)}${cutWords}`;
  return short.length < text.length ? short : text;
}

/** The number of latest messages that the first version did not shorten. */
const keep = 6;
const stubLength = 200;

/** Shortens as the first released version did, whose events do not say how much was removed. */
export function shortenAsBefore(messages: readonly Message[]): Message[] {
  return messages.map((message, index) => {
    if (message.role !== "tool" || index >= messages.length - keep) return message;
    if (message.text.length <= stubLength) return message;
    return {
      ...message,
      text: `${message.text.slice(0, stubLength)}\n[… shortened to save space; call the tool again if it is needed]`,
    };
  });
}

export function sizeOfAll(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + sizeOf(message), 0);
}

/** The bytes of a message in a prompt, including the provider's formatting. */
export function sizeOf(message: Message): number {
  const text = Buffer.byteLength(message.text) + perMessage;
  if (message.role !== "assistant" || message.calls.length === 0) return text;
  return text + Buffer.byteLength(JSON.stringify(message.calls));
}

/** Roles, separators and ids that providers add to each message. */
const perMessage = 16;
