import type { Writer } from "./io.ts";

/** How long a line may be. A pipe has no width: room for titles is worth more there than short lines. */
export function lineWidth(writer: Writer): number {
  return writer.isTerminal ? writer.columns : 120;
}
