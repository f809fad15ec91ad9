import { finishedParts, streamStart } from "../cli/markdown/stream-markdown.ts";
import type { Entry } from "./entry.ts";
import type { Turn } from "./turn.ts";

export const brokenOff: Entry = {
  kind: "note",
  tone: "warn",
  text: "The answer broke off here. It is requested again.",
};

export function unstreamed(turn: Turn): Turn {
  return { ...turn, drawn: "", streamed: "", progress: streamStart };
}

/** More of the answer has come: whole blocks, items and lines of code join the conversation at once. */
export function streamMore(
  turn: Turn,
  text: string,
): { readonly turn: Turn; readonly entries: readonly Entry[] } {
  const { drawn, profile: who, progress } = turn;
  // Only the rest is looked at: an answer may become long.
  const streamed = turn.streamed + text;
  const parts = finishedParts(streamed, { ...progress, at: 0 });
  const entries = parts.map(({ from, to }): Entry => {
    const place = { ...from, at: drawn.length + from.at };
    return { kind: "agent", who, text: streamed.slice(from.at, to.at), from: place };
  });
  const last = parts.at(-1)?.to;
  if (last === undefined) return { turn: { ...turn, streamed }, entries };
  const next = {
    drawn: drawn + streamed.slice(0, last.at),
    streamed: streamed.slice(last.at),
    progress: { ...last, at: drawn.length + last.at },
  };
  return { turn: { ...turn, ...next }, entries };
}

/** The part of an answer that was not drawn for good while it was streamed. */
export function restOf({ drawn, profile, progress }: Turn, text: string): readonly Entry[] {
  if (text.trim() === "") return [];
  const whole: Entry = { kind: "agent", who: profile, text };
  if (drawn === "") return [whole];
  // The answer is another text than the streamed one. That of an agent program ends without blank lines.
  if (!text.startsWith(drawn.trimEnd())) return [brokenOff, whole];
  const rest = text.slice(drawn.length);
  return rest.trim() === "" ? [] : [{ ...whole, text: rest, from: progress }];
}
