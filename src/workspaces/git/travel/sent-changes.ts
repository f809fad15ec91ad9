import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { writeDurablySync } from "../../../files.ts";
import { layoutOf } from "../copies/copy-layout.ts";
import type { WorkingCopy } from "../copies/working-copy.ts";

/**
 * Which state of a copy the store has, where that copy is of a folder on another machine: so much
 * of it needs to be kept here no longer than its delegation is open.
 */
export function noteSent(copy: WorkingCopy, tree: string): void {
  if (copy.source.kind === "elsewhere") writeDurablySync(placeOf(copy), JSON.stringify({ tree }));
}

export function isSent(copy: WorkingCopy, tree: string): boolean {
  if (copy.source.kind !== "elsewhere" || !existsSync(placeOf(copy))) return false;
  return (JSON.parse(readFileSync(placeOf(copy), "utf8")) as { tree: unknown }).tree === tree;
}

export function forgetSent(copy: WorkingCopy): void {
  rmSync(placeOf(copy), { force: true });
}

function placeOf({ home, id }: WorkingCopy): string {
  return join(layoutOf(home, id).own, "sent.json");
}
