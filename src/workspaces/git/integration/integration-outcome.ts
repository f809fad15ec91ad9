import { existsSync, readFileSync } from "node:fs";
import { writeDurablySync } from "../../../files.ts";
import { layoutOf } from "../copies/copy-layout.ts";
import type { WorkingCopy } from "../copies/working-copy.ts";
import type { MergedResult } from "./integration-result.ts";

/** The merge that was made of a copy last, if any; `child` says of which of its commits. */
export function readOutcome({ home, id }: WorkingCopy): MergedResult | undefined {
  const path = layoutOf(home, id).outcome;
  if (!existsSync(path)) return undefined;
  return JSON.parse(readFileSync(path, "utf8")) as MergedResult;
}

export function writeOutcome({ home, id }: WorkingCopy, outcome: MergedResult): void {
  writeDurablySync(layoutOf(home, id).outcome, JSON.stringify(outcome));
}
