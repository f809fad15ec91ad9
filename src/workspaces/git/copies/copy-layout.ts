import { createHash } from "node:crypto";
import { join } from "node:path";
import { MandateError } from "../../../ports/mandate-error.ts";

/**
 * Where things of working copies lie below MANDATE_HOME. Only `folder` is the child's; everything
 * else is the runtime's, out of the child's reach: its vault (a bare repository), its indexes, and
 * the record of what the copy was made from.
 */
export interface CopyLayout {
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
