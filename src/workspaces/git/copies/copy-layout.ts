import { createHash } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { writeDurablySync } from "../../../files.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import { identifyThisProcess } from "../../../processes/process-start.ts";

/**
 * Where things of working copies lie below MANDATE_HOME. Only `folder` is the child's; everything
 * else is the runtime's, out of the child's reach: its vault (a bare repository), its indexes, and
 * the record of what the copy was made from.
 */
interface CopyLayout {
  readonly folder: string;
  readonly own: string;
  readonly record: string;
  /** Which process makes the copy or works with it, so that nobody sweeps it away meanwhile. */
  readonly holder: string;
  readonly vault: string;
  /** What the copied place held when it was last looked at. */
  readonly sourceIndex: string;
  /** What the copy held when it was last looked at. */
  readonly copyIndex: string;
  readonly outcome: string;
  readonly journal: string;
}

const idPattern = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;

export function isCopyId(name: string): boolean {
  return idPattern.test(name);
}

export function layoutOf(home: string, id: string): CopyLayout {
  if (!isCopyId(id)) {
    throw new MandateError(
      "usage",
      `"${id}" is no id of a working copy: letters, digits, "-" and "_", at most 64.`,
    );
  }
  const own = join(home, "copies", id);
  return {
    folder: join(worktreesOf(home), id),
    own,
    record: join(own, "copy.json"),
    holder: join(own, "holder"),
    vault: join(own, "vault.git"),
    sourceIndex: join(own, "source.index"),
    copyIndex: join(own, "copy.index"),
    outcome: join(own, "outcome.json"),
    journal: join(journalsOf(home), `${id}.json`),
  };
}

export function worktreesOf(home: string): string {
  return join(home, "worktrees");
}

export function journalsOf(home: string): string {
  return join(home, "integrations");
}

/** A folder for the locks of one place; the name says nothing about it. */
export function lockFolderOf(home: string, toplevel: string, purpose: string): string {
  const name = createHash("sha256").update(toplevel).digest("hex").slice(0, 24);
  return join(home, "locks", `${name}.${purpose}`);
}

export function refOf(id: string): string {
  return `refs/mandate/${id}`;
}

/**
 * Copies an index with its time. Git compares whole seconds, and looks at a file again whose time
 * is not before the index's own: in a copy that seemed younger than it is, an edit of the same
 * length, made in the second in which the index was written, would never be seen.
 */
export function copyIndex(from: string, to: string): void {
  const seconds = Math.floor(statSync(from).mtimeMs / 1000);
  copyFileSync(from, to);
  utimesSync(to, seconds, seconds);
}

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

/**
 * Makes the runtime's own folder of a new copy, with its holder in it from the first moment on:
 * what nobody holds is swept away by any process that starts.
 */
export function beginCopy(home: string, id: string): void {
  const { holder, own } = layoutOf(home, id);
  const me = identifyThisProcess();
  const making = `${own}.making.${me}`;
  mkdirSync(making, { recursive: true, mode: 0o700 });
  writeFileSync(join(making, basename(holder)), me, { mode: 0o600 });
  renameSync(making, own);
}

/** How much of a workspace is copied, and how much of a child's work is taken over. */
export interface CopyLimits {
  readonly maximumFiles: number;
  readonly maximumBytes: number;
  /** Of an untracked file in the source, and of any file that a child changed. */
  readonly maximumFileBytes: number;
}

const mebibyte = 1024 * 1024;

export const copyLimits: CopyLimits = {
  maximumFiles: 200_000,
  maximumBytes: 4096 * mebibyte,
  maximumFileBytes: 256 * mebibyte,
};

export const changeLimits: CopyLimits = {
  maximumFiles: 20_000,
  maximumBytes: 1024 * mebibyte,
  maximumFileBytes: 64 * mebibyte,
};
