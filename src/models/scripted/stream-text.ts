import { type Clock, sleep } from "../../ports/clock.ts";
import type { ModelPart } from "../../ports/model.ts";
import type { ScriptedReply } from "./playbook.ts";

export type OnPart = (part: ModelPart) => void;

/** The text in its pieces, all at once. */
export function streamText(reply: ScriptedReply, onPart: OnPart): void {
  for (const text of piecesOf(reply)) onPart({ type: "text", text });
}

/** The text in its pieces, spread over `milliseconds`. */
export async function streamSlowly(
  reply: ScriptedReply,
  milliseconds: number,
  signal: AbortSignal,
  onPart: OnPart,
  clock: Clock,
): Promise<void> {
  const pieces = piecesOf(reply);
  const pause = milliseconds / Math.max(1, pieces.length);
  if (pieces.length === 0) await sleep(clock, pause, signal);
  for (const text of pieces) {
    await sleep(clock, pause, signal);
    onPart({ type: "text", text });
  }
}

function piecesOf({ text = "", chunks = 1 }: ScriptedReply): readonly string[] {
  if (text === "") return [];
  if (chunks <= 1) return [text];
  const size = Math.ceil(text.length / chunks);
  const pieces: string[] = [];
  for (let start = 0; start < text.length; start += size)
    pieces.push(text.slice(start, start + size));
  return pieces;
}
