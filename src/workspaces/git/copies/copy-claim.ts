import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { writeDurablySync } from "../../../files.ts";
import { layoutOf } from "./copy-layout.ts";

/**
 * Where several machines have a copy of one name, the log says under which claim files were last
 * written, and this says under which claim work was last done here: so that each of them knows
 * whether its own is the one that the conversation speaks of.
 */
export function readClaim(home: string, id: string): number {
  const place = placeOf(home, id);
  if (!existsSync(place)) return 0;
  const fence = Number(readFileSync(place, "utf8"));
  return Number.isSafeInteger(fence) ? fence : 0;
}

export function noteClaim(home: string, id: string, fence: number): void {
  writeDurablySync(placeOf(home, id), String(fence));
}

function placeOf(home: string, id: string): string {
  return join(layoutOf(home, id).own, "claim");
}
