import type { Acknowledged } from "../../events/checker/check-store.ts";
import { type ProcessBeside, startBeside } from "../sqlite/process-beside.test-support.ts";

/** A process that writes to a Postgres, and what it was told is stored. */
export interface Writer extends ProcessBeside {
  readonly acknowledged: Acknowledged[];
}

export function startWriter(url: string, appends: number, leaseMs: number): Writer {
  const acknowledged: Acknowledged[] = [];
  const script = new URL("./write-beside.test-support.ts", import.meta.url);
  const beside = startBeside(script, [url, appends, leaseMs], (line) => {
    // A line that a kill cut short acknowledges nothing.
    if (line.endsWith("}")) acknowledged.push(JSON.parse(line) as Acknowledged);
  });
  return { ...beside, acknowledged };
}

export const isUnderWay = ({ acknowledged }: Writer): boolean => acknowledged.length > 20;
